"""Which packages measure: read from the lock files, so that a new version of any other makes no result stale."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]


def sandbox_sources() -> dict[str, bytes]:
    """Everything of ours that an agent shares its room with: path in the image's build context to bytes."""
    evaluator = ROOT / "evaluator"
    files = [evaluator / "__init__.py", evaluator / "wire.py", *sorted((evaluator / "sandbox").rglob("*.py"))]
    return {str(path.relative_to(ROOT)): path.read_bytes() for path in files}


def lock_file(extra: str) -> bytes:
    """What an extra installs, with hashes."""
    return (ROOT / "evaluator" / "extras" / f"{extra}.txt").read_bytes()


def build_context(extras: Sequence[str] = ()) -> dict[str, bytes]:
    """The files the image is built from: those of an image without extras know nothing of any."""
    evaluator = ROOT / "evaluator"
    recipe = {name: (evaluator / name).read_bytes() for name in ("Dockerfile", "requirements.txt")}
    return {**recipe, **{f"extra-{name}.txt": lock_file(name) for name in extras}, **sandbox_sources()}


def default_base() -> str:
    """The base image that the Dockerfile names, with its digest."""
    for line in (ROOT / "evaluator" / "Dockerfile").read_text().splitlines():
        if line.startswith("ARG BASE_IMAGE="):
            return line.partition("=")[2]
    raise ValueError("evaluator/Dockerfile has no 'ARG BASE_IMAGE=' line")


# The trusted side's lock, and that of the image; every package in the latter is one that agents may use.
FILES = ("requirements/runtime.txt", "evaluator/requirements.txt")
# What runtime.in asks for that cannot change what an environment gives or an agent answers, and what such packages share
# with those that can. A package that is not named here measures: one that a host adds for an environment counts unasked.
NOT_MEASURING = frozenset({
    "cloudpickle", "cryptography", "docker", "farama-notifications", "jinja2", "markdown-it-py", "markdownify",
    "mkdocs-material", "pillow", "pydantic", "pygithub", "pyyaml", "rfc8785", "rich", "scipy", "setuptools", "typer",
    "typing-extensions",
})  # fmt: skip
_PIN = re.compile(r"([a-z0-9][a-z0-9._-]*)(==[^\\]+?)\s*\\?")
_DIRECT = "-r "


class _Pin(NamedTuple):
    """One package of a lock."""

    name: str
    line: str
    wanted_by: set[str]


def _parse(text: str) -> Iterator[_Pin]:
    """The packages of a lock as uv writes it: a line for each version, then its hashes, then who wants it."""
    pin = None
    for line in text.splitlines():
        if match := _PIN.fullmatch(line):
            if pin:
                yield pin
            pin = _Pin(match[1], match[1] + match[2], set())
        elif pin and (comment := line.strip()).startswith("#"):
            pin.wanted_by.add(comment.removeprefix("#").strip().removeprefix("via").strip())
    if pin:
        yield pin


def pins(text: str) -> list[str]:
    """Every `name==version` of a lock, with its condition where it has one, in order; no hashes and no comments."""
    return sorted(pin.line for pin in _parse(text))


def measuring(text: str) -> list[str]:
    """The same of the packages that measure: what is asked for, and what that needs, without what cannot change a number."""
    every = [pin for pin in _parse(text) if pin.name not in NOT_MEASURING]
    names = {pin.name for pin in every if any(by.startswith(_DIRECT) for by in pin.wanted_by)}
    while more := {pin.name for pin in every if pin.wanted_by & names} - names:
        names |= more
    return sorted(pin.line for pin in every if pin.name in names)


def current() -> dict[str, bytes]:
    """The lock files of this checkout."""
    return {name: (ROOT / name).read_bytes() for name in FILES}
