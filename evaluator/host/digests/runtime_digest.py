"""The runtime digest, which names what measures. It is part of every key, so its change makes old results stale.

The first digests were hashes over files of that time, which protocol_1.tar.xz holds and which have no other use. Later the
digest became one over versions, though nothing was measured differently: protocol 1 with its first packages keeps its own.
"""

import functools
import hashlib
import importlib.metadata
import platform
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from evaluator.host.deterministic import pins_digest
from evaluator.host.digests import image_files
from evaluator.host.digests.image_files import lock_file
from evaluator.model import canonical_json
from evaluator.model.config import submission as extras_model
from evaluator.model.measurement_version import MEASUREMENT_VERSION

_FILES_OF_PROTOCOL_1 = Path(__file__).with_name("protocol_1.tar.xz")
# The SHA-256 of each extra's versions, and of the lock that held them.
FIRST_EXTRA_LOCKS = {
    "torch": (
        "6e5ab9c0c5099b4c15161be8b6c3d7f92f00ead0d5f189b8fcec1c5238062fcb",
        "70e8132742fe509db7ab6530e24ab874ab773f4cb12cae935b7b1d37d5fda9ee",
    ),
    "sb3": (
        "dd4e1da0244e010f5dd774775ae0faade81e3546eb18fb54983ffb353388fed7",
        "e74b0e36b683517a1b559d7eecd25c242f4d5489fb50218846462ada198cab2d",
    ),
    "onnx": (
        "87d98ba132e8a8753c7d04acdec031cd1f358157064833f1f1590b52425b943f",
        "e89ef0196b95c02d000b1f76a846ce51e4815e88240d1f970f1039f03cf8c575",
    ),
    "grpc": (
        "b55d655536dc65adfbf7bac92bcdfc7990d573034d2186b9d4527431f231292f",
        "5fba82786abfb839d9ffd2fde5dd4be4cf67deaaa71b66dac8bf7a666808ff69",
    ),
}


@functools.cache
def files_of_protocol_1() -> dict[str, bytes]:
    """The lock files, the Dockerfile and the sandbox's sources at the time, by their paths."""
    with tarfile.open(_FILES_OF_PROTOCOL_1, "r:xz") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive.getmembers()}  # type: ignore[union-attr]


def runtime_digest_of_protocol_1(base: str) -> str:
    """SHA-256 over the base image's identity and those files."""
    hasher = hashlib.sha256(base.encode())
    for path, content in sorted(files_of_protocol_1().items()):
        hasher.update(f"\0{path}\0{len(content)}\0".encode() + content)
    return hasher.hexdigest()


SHOWN_PACKAGES = ("gymnasium", "numpy", "box2d", "pettingzoo")
# The main packages of each extra.
MAIN_PACKAGES = {"torch": ("torch",), "sb3": ("stable-baselines3", "torch"), "onnx": ("onnxruntime",), "grpc": ("grpcio",)}


def runtime_digest(base: str) -> str:
    """Digest over the protocol, the packages that measure and the base image's identity (`process` if there is none).

    The protocol's number stands for the evaluator's own code; its bytes are only in the image's name (`image_tag`).
    """
    packages = _measuring(image_files.current())
    if MEASUREMENT_VERSION == 1 and packages == _measuring(files_of_protocol_1()):
        return runtime_digest_of_protocol_1(base)
    return canonical_json.digest({"protocol": MEASUREMENT_VERSION, "base": base, "packages": packages})


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
    first, name = FIRST_EXTRA_LOCKS.get(extra, ("", ""))
    return name if MEASUREMENT_VERSION == 1 and versions_only == first else versions_only


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
