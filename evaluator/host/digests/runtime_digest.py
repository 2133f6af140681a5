"""What measures: its digest is part of every key, so a change of it makes old results stale by name."""

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

PACKAGES = ("gymnasium", "numpy", "box2d", "pettingzoo")
# The packages that an extra is asked for.
LEADING = {"torch": ("torch",), "sb3": ("stable-baselines3", "torch"), "onnx": ("onnxruntime",), "grpc": ("grpcio",)}
_PINNED = re.compile(r"^([a-z0-9-]+)==([^ ;]+)", re.MULTILINE)


def runtime_digest(base: str) -> str:
    """What measures, by one name: the protocol, the packages that measure, the base image's identity (`process` if none).

    The evaluator's own code is in it by the protocol's number alone; the image's name (`evaluator.host.image`) is of bytes.
    """
    packages = _measuring(image_files.current())
    if PROTOCOL == 1 and packages == _measuring(protocol_1.files_of_protocol_1()):
        return protocol_1.runtime_digest_of_protocol_1(base)
    return canonical_json.digest({"protocol": PROTOCOL, "base": base, "packages": packages})


def _measuring(files: Mapping[str, bytes]) -> dict[str, list[str]]:
    return {name: image_files.measuring(files[name].decode()) for name in image_files.FILES}


def with_extras(digest: str, extras: Sequence[str]) -> str:
    """The runtime digest of agents that need extras; without any it is as it was."""
    return extras_model.name_with_extras(digest, extras, lock_digests()) if extras else digest


@functools.cache
def lock_digests() -> dict[str, str]:
    """What stands for each extra's lock in a digest: a hash over the versions in it."""
    return {name: _lock_digest(name) for name in extras_model.EXTRAS}


def _lock_digest(extra: str) -> str:
    versions_only = canonical_json.digest(image_files.pins(lock_file(extra).decode()))
    first, name = protocol_1.EXTRAS.get(extra, ("", ""))
    return name if PROTOCOL == 1 and versions_only == first else versions_only


def contents(extra: str) -> dict[str, str]:
    """What a lock installs: package to version."""
    return dict(_PINNED.findall(lock_file(extra).decode()))


def versions(extras: Sequence[str] = ()) -> dict[str, str]:
    """Versions that a reader may want to know, and how arithmetic was pinned."""
    packages = {"python": platform.python_version(), "pins": pins_digest()[:16]}
    for name in extras:
        inside = contents(name)
        packages |= {package: inside[package] for package in LEADING[name]}
    for name in PACKAGES:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return packages
