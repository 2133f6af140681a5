"""Seeds the generators that a whole process shares, once, so that an agent which draws from them can be played again.

They are `random`'s, `numpy.random`'s and torch's own. Nothing is imported for the agent: what is there is seeded at once,
the rest as soon as its module has run, whoever imports it. Nobody seeds them again when an episode begins: other live
episodes draw from them, too.
"""

import contextlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# Where each module keeps the function that seeds. `torch.manual_seed` itself would look for accelerators and load compilers.
SEEDERS = {"random": ("seed",), "numpy.random": ("seed",), "torch": ("default_generator", "manual_seed")}


def seed_globals(seed: int, folder: str) -> None:
    """Seed them for an agent whose files are in that folder: a module of its own by one of these names is none of them."""
    for name in SEEDERS:
        if name in sys.modules:
            _seed(sys.modules[name], name, seed)
    sys.meta_path.insert(0, _Finder(seed, folder.rstrip(os.sep) + os.sep))


def _seed(module: ModuleType, name: str, seed: int) -> None:
    target: Any = module
    for part in SEEDERS[name]:
        target = getattr(target, part, None)
    if callable(target):
        target(seed)


class _Finder:
    """Stands before the other finders, finds what they find, and has the modules seeded that are run."""

    def __init__(self, seed: int, folder: str) -> None:
        self._seed, self._folder = seed, folder

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """See importlib.abc.MetaPathFinder."""
        if name not in SEEDERS:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find else None
            if spec is not None:
                if not (spec.origin or "").startswith(self._folder):
                    self._follow(spec)
                return spec
        return None

    def _follow(self, spec: ModuleSpec) -> None:
        """Have the module seeded when it has run. Its loader stays the same object, and as it was from then on."""
        loader: Any = spec.loader
        run = getattr(loader, "exec_module", None)

        def exec_module(module: ModuleType) -> None:
            with contextlib.suppress(AttributeError):
                del loader.exec_module
            run(module)  # type: ignore[misc]
            if module.__name__ == spec.name:
                _seed(module, spec.name, self._seed)

        # A class that is its own loader serves other modules, too; and one with slots takes no method.
        if run is not None and not isinstance(loader, type):
            with contextlib.suppress(AttributeError):
                loader.exec_module = exec_module
