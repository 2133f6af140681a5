"""Seeding of the process's global generators, so that an agent that uses them can be played again.

These are the generators of `random`, `numpy.random` and torch. Modules that are already imported are seeded at once, others
after their import. They are seeded once only, not for each episode, since other live episodes draw from them too.
"""

import contextlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# The path of the seeding function in each module. `torch.manual_seed` would look for accelerators and load compilers.
SEEDERS = {"random": ("seed",), "numpy.random": ("seed",), "torch": ("default_generator", "manual_seed")}


def seed_globals(seed: int, folder: str) -> None:
    """Seed them for an agent in this folder, whose own modules of these names are not seeded."""
    for name in SEEDERS:
        if name in sys.modules:
            _seed(sys.modules[name], name, seed)
    sys.meta_path.insert(0, _SeedingFinder(seed, folder.rstrip(os.sep) + os.sep))


def _seed(module: ModuleType, name: str, seed: int) -> None:
    target: Any = module
    for part in SEEDERS[name]:
        target = getattr(target, part, None)
    if callable(target):
        target(seed)


class _SeedingFinder:
    """Finds modules by the other finders, and has the ones with generators seeded after their import."""

    def __init__(self, seed: int, folder: str) -> None:
        self._seed, self._folder = seed, folder

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if name not in SEEDERS:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find else None
            if spec is not None:
                if not (spec.origin or "").startswith(self._folder):
                    self._seed_after_import(spec)
                return spec
        return None

    def _seed_after_import(self, spec: ModuleSpec) -> None:
        """Have the module seeded after its import; its loader stays the same object, and is restored."""
        loader: Any = spec.loader
        run = getattr(loader, "exec_module", None)

        def exec_module(module: ModuleType) -> None:
            with contextlib.suppress(AttributeError):
                del loader.exec_module
            run(module)  # type: ignore[misc]
            if module.__name__ == spec.name:
                _seed(module, spec.name, self._seed)

        # A loader that is a class serves other modules too, and one with slots takes no new attribute.
        if run is not None and not isinstance(loader, type):
            with contextlib.suppress(AttributeError):
                loader.exec_module = exec_module
