"""The runtime digest, which names what measures. It is part of every key, so its change makes old results stale."""

import functools
import importlib.metadata
import platform
from collections.abc import Sequence

from evaluator.host.deterministic import pins_digest
from evaluator.host.digests import image_files
from evaluator.host.digests.image_files import lock_file
from evaluator.model import canonical_json
from evaluator.model.config.submission import EXTRAS, name_with_extras
from evaluator.model.measurement_version import MEASUREMENT_VERSION

SHOWN_PACKAGES = ("gymnasium", "numpy", "box2d", "pettingzoo")
# The main packages of each extra.
MAIN_PACKAGES = {"torch": ("torch",), "sb3": ("stable-baselines3", "torch"), "onnx": ("onnxruntime",), "grpc": ("grpcio",)}


def runtime_digest(base: str) -> str:
    """Digest over the measurement version, the packages that measure and the base image's identity (`process` without one).

    The measurement version stands for the evaluator's own code; its bytes are only in the image's name (`image_tag`).
    """
    packages = {name: image_files.measuring_pins(content.decode()) for name, content in image_files.current_locks().items()}
    return canonical_json.digest({"protocol": MEASUREMENT_VERSION, "base": base, "packages": packages})


def with_extras(digest: str, extras: Sequence[str]) -> str:
    """The runtime digest for agents with these extras; unchanged without extras."""
    return name_with_extras(digest, extras, lock_digests()) if extras else digest


@functools.cache
def lock_digests() -> dict[str, str]:
    """A hash over the versions in each extra's lock."""
    return {name: canonical_json.digest(image_files.pins(lock_file(name).decode())) for name in EXTRAS}


def contents(extra: str) -> dict[str, str]:
    """The packages of an extra's lock: name to version."""
    return dict(image_files.locked_hashes(lock_file(extra).decode()).keys())


def versions(extras: Sequence[str] = ()) -> dict[str, str]:
    """Versions to show in a result, and a hash of the pinned arithmetic."""
    packages = {"python": platform.python_version(), "pins": pins_digest()[:16]}
    for name in extras:
        locked = contents(name)
        packages |= {package: locked[package] for package in MAIN_PACKAGES[name]}
    for name in SHOWN_PACKAGES:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return packages
