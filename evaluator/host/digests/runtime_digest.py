"""The runtime digest, which names what measures. It is part of every key, so its change makes old results stale."""

import functools
import importlib.metadata
import platform
import re
from collections.abc import Mapping, Sequence

from evaluator.host.deterministic import pins_digest
from evaluator.host.digests import image_files, protocol_1
from evaluator.host.digests.image_files import lock_file
from evaluator.model import canonical_json
from evaluator.model.config import submission as extras_model
from evaluator.model.protocol import PROTOCOL

SHOWN_PACKAGES = ("gymnasium", "numpy", "box2d", "pettingzoo")
# The main packages of each extra.
MAIN_PACKAGES = {"torch": ("torch",), "sb3": ("stable-baselines3", "torch"), "onnx": ("onnxruntime",), "grpc": ("grpcio",)}
_LOCKED_VERSION = re.compile(r"^([a-z0-9-]+)==([^ ;]+)", re.MULTILINE)


def runtime_digest(base: str) -> str:
    """Digest over the protocol, the packages that measure and the base image's identity (`process` if there is none).

    The protocol's number stands for the evaluator's own code; its bytes are only in the image's name (`image_tag`).
    """
    packages = _measuring(image_files.current())
    if PROTOCOL == 1 and packages == _measuring(protocol_1.files_of_protocol_1()):
        return protocol_1.runtime_digest_of_protocol_1(base)
    return canonical_json.digest({"protocol": PROTOCOL, "base": base, "packages": packages})


def _measuring(files: Mapping[str, bytes]) -> dict[str, list[str]]:
    return {name: image_files.measuring(files[name].decode()) for name in image_files.LOCK_FILES}


def with_extras(digest: str, extras: Sequence[str]) -> str:
    """The runtime digest for agents with these extras; unchanged without extras."""
    return extras_model.name_with_extras(digest, extras, lock_digests()) if extras else digest


@functools.cache
def lock_digests() -> dict[str, str]:
    """A hash over the versions in each extra's lock."""
    return {name: _lock_digest(name) for name in extras_model.EXTRAS}


def _lock_digest(extra: str) -> str:
    versions_only = canonical_json.digest(image_files.pins(lock_file(extra).decode()))
    first, name = protocol_1.FIRST_EXTRA_LOCKS.get(extra, ("", ""))
    return name if PROTOCOL == 1 and versions_only == first else versions_only


def contents(extra: str) -> dict[str, str]:
    """The packages of an extra's lock: name to version."""
    return dict(_LOCKED_VERSION.findall(lock_file(extra).decode()))


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
