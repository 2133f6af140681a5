"""What measures: its digest is part of every key, so a change of it makes old results stale by name."""

import functools
import hashlib
import importlib.metadata
import platform
import re
from collections.abc import Sequence

from evaluator.host.image import ROOT, lock, sandbox_sources
from evaluator.host.pins import pins_digest
from evaluator.model import extras as extras_model

PACKAGES = ("gymnasium", "numpy", "box2d", "pettingzoo")
# The packages that an extra is asked for.
LEADING = {"torch": ("torch",), "sb3": ("stable-baselines3", "torch"), "onnx": ("onnxruntime",), "grpc": ("grpcio",)}
_PINNED = re.compile(r"^([a-z0-9-]+)==([^ ;]+)", re.MULTILINE)
LOCK_FILES = ("requirements/runtime.txt", "evaluator/requirements.txt", "evaluator/Dockerfile")


def runtime_digest(base: str) -> str:
    """SHA-256 over lock files, sandbox sources and the base image's identity (`process` where there is none)."""
    hasher = hashlib.sha256(base.encode())
    files = {name: (ROOT / name).read_bytes() for name in LOCK_FILES} | sandbox_sources()
    for path, content in sorted(files.items()):
        hasher.update(f"\0{path}\0{len(content)}\0".encode() + content)
    return hasher.hexdigest()


def with_extras(digest: str, extras: Sequence[str]) -> str:
    """The runtime digest of agents that need extras; without any it is as it was."""
    return extras_model.with_extras(digest, extras, lock_digests()) if extras else digest


@functools.cache
def lock_digests() -> dict[str, str]:
    """The SHA-256 of each extra's lock."""
    return {name: hashlib.sha256(lock(name)).hexdigest() for name in extras_model.EXTRAS}


def contents(extra: str) -> dict[str, str]:
    """What a lock installs: package to version."""
    return dict(_PINNED.findall(lock(extra).decode()))


def versions(extras: Sequence[str] = ()) -> dict[str, str]:
    """Versions that a reader may want to know, and how arithmetic was pinned."""
    found = {"python": platform.python_version(), "pins": pins_digest()[:16]}
    for name in extras:
        inside = contents(name)
        found |= {package: inside[package] for package in LEADING[name]}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
