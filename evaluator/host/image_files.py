"""The files that the evaluator image is made of; nothing here needs a container engine."""

from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def sandbox_sources() -> dict[str, bytes]:
    """Everything of ours that an agent shares its room with: path in the image's build context to bytes."""
    evaluator = ROOT / "evaluator"
    files = [evaluator / "__init__.py", evaluator / "wire.py", *sorted((evaluator / "sandbox").rglob("*.py"))]
    return {str(path.relative_to(ROOT)): path.read_bytes() for path in files}


def lock(extra: str) -> bytes:
    """What an extra installs, with hashes."""
    return (ROOT / "evaluator" / "extras" / f"{extra}.txt").read_bytes()


def build_context(extras: Sequence[str] = ()) -> dict[str, bytes]:
    """The files the image is built from: those of an image without extras know nothing of any."""
    evaluator = ROOT / "evaluator"
    recipe = {name: (evaluator / name).read_bytes() for name in ("Dockerfile", "requirements.txt")}
    return {**recipe, **{f"extra-{name}.txt": lock(name) for name in extras}, **sandbox_sources()}


def default_base() -> str:
    """The base image that the Dockerfile names, with its digest."""
    for line in (ROOT / "evaluator" / "Dockerfile").read_text().splitlines():
        if line.startswith("ARG BASE_IMAGE="):
            return line.partition("=")[2]
    raise ValueError("evaluator/Dockerfile has no 'ARG BASE_IMAGE=' line")
