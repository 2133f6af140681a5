"""What measures: its digest is part of every key, so a change of it makes old results stale by name."""

import hashlib
import importlib.metadata
import platform

from evaluator.host.image import ROOT, sandbox_sources

PACKAGES = ("gymnasium", "numpy", "box2d", "pettingzoo")
LOCK_FILES = ("requirements/runtime.txt", "evaluator/requirements.txt", "evaluator/Dockerfile")


def runtime_digest(base: str) -> str:
    """SHA-256 over lock files, sandbox sources and the base image's identity (`process` where there is none)."""
    hasher = hashlib.sha256(base.encode())
    files = {name: (ROOT / name).read_bytes() for name in LOCK_FILES} | sandbox_sources()
    for path, content in sorted(files.items()):
        hasher.update(f"\0{path}\0{len(content)}\0".encode() + content)
    return hasher.hexdigest()


def versions() -> dict[str, str]:
    """Versions that a reader may want to know."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
