"""The evaluator image: what goes into it, what it is called, and building it when it is not there."""

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

from evaluator.host.container import Engine

ROOT = Path(__file__).resolve().parents[2]
NAME = "pullrank-evaluator"


def sandbox_sources() -> dict[str, bytes]:
    """Everything of ours that an agent shares its room with: path in the image's build context to bytes."""
    evaluator = ROOT / "evaluator"
    files = [evaluator / "__init__.py", evaluator / "wire.py", *sorted((evaluator / "sandbox").glob("*.py"))]
    return {str(path.relative_to(ROOT)): path.read_bytes() for path in files}


def build_context() -> dict[str, bytes]:
    """The files the image is built from."""
    evaluator = ROOT / "evaluator"
    recipe = {name: (evaluator / name).read_bytes() for name in ("Dockerfile", "requirements.txt")}
    return {**recipe, **sandbox_sources()}


def default_base() -> str:
    """The base image that the Dockerfile names, with its digest."""
    for line in (ROOT / "evaluator" / "Dockerfile").read_text().splitlines():
        if line.startswith("ARG BASE_IMAGE="):
            return line.partition("=")[2]
    raise ValueError("evaluator/Dockerfile has no 'ARG BASE_IMAGE=' line")


def base_identity(engine: Engine, base: str) -> str:
    """What the base image is, whatever it is called here: the reference's digest, or else the local image's id."""
    if "@sha256:" in base:
        return base.partition("@")[2]
    return engine.image_id(base) or base


def tag(base: str) -> str:
    """The image's name: the same sources on the same base have the same name, so it is built once."""
    hasher = hashlib.sha256(base.encode())
    for path, content in sorted(build_context().items()):
        hasher.update(f"\0{path}\0{len(content)}\0".encode() + content)
    return f"{NAME}:{hasher.hexdigest()[:16]}"


def archive() -> bytes:
    """The build context as a tar archive in which only the files' names and bytes tell."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, content in sorted(build_context().items()):
            member = tarfile.TarInfo(path)
            member.size, member.mode, member.mtime = len(content), 0o644, 0
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def ensure(engine: Engine, base: str, tell: Callable[[str], None]) -> str:
    """The id of the evaluator image, built now if it is not there.

    Raises:
        EngineError: it cannot be had.
    """
    name = tag(base_identity(engine, base))
    found = engine.image_id(name)
    if found is None:
        engine.build(archive(), name, {"BASE_IMAGE": base}, tell)
        found = engine.image_id(name)
    assert found is not None
    return found
