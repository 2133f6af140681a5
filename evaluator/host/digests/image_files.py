"""The evaluator image's files, and the locked packages that measure: new versions of others make no result stale."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
# Where an installed package has the files that lie beside the packages in a clone; see setup.py.
INSTALLED = Path(sys.prefix) / "share" / "pullrank"


def root_path(name: str) -> Path:
    """A file or folder at the root of the clone, or of what was installed from it."""
    return ROOT / name if (ROOT / name).exists() else INSTALLED / name


def sandbox_sources() -> dict[str, bytes]:
    """Our sources that run beside the agent: path in the image's build context to content."""
    evaluator = ROOT / "evaluator"
    files = [evaluator / "__init__.py", evaluator / "wire.py", *sorted((evaluator / "sandbox").rglob("*.py"))]
    return {str(path.relative_to(ROOT)): path.read_bytes() for path in files}


def lock_file(extra: str) -> bytes:
    """The lock file of an extra."""
    return (ROOT / "evaluator" / "extras" / f"{extra}.txt").read_bytes()


def image_lock() -> str:
    """The lock file of what every image has."""
    return (ROOT / "evaluator" / "requirements.txt").read_text()


def build_context(extras: Sequence[str] = ()) -> dict[str, bytes]:
    """The files that the image is built from: path to content."""
    evaluator = ROOT / "evaluator"
    recipe = {name: (evaluator / name).read_bytes() for name in ("Dockerfile", "requirements.txt")}
    return {**recipe, **{f"extra-{name}.txt": lock_file(name) for name in extras}, **sandbox_sources()}


def default_base() -> str:
    """The Dockerfile's base image, with its digest."""
    for line in (ROOT / "evaluator" / "Dockerfile").read_text().splitlines():
        if line.startswith("ARG BASE_IMAGE="):
            return line.partition("=")[2]
    raise ValueError("evaluator/Dockerfile has no 'ARG BASE_IMAGE=' line")


# The locks of the trusted side and of the image.
LOCK_FILES = ("requirements/runtime.txt", "evaluator/requirements.txt")
# Packages that cannot change what an environment returns or an agent answers. Any other package measures, also one that a
# host adds for an environment.
NOT_MEASURING = frozenset({
    "cloudpickle", "cryptography", "docker", "farama-notifications", "jinja2", "markdown-it-py", "markdownify",
    "mkdocs-material", "pillow", "pydantic", "pygithub", "pyyaml", "rfc8785", "rich", "scipy", "setuptools", "typer",
    "typing-extensions",
})  # fmt: skip
_PIN = re.compile(r"([a-z0-9][a-z0-9._-]*)(?:\[[^]]*\])?(==[^\\]+?)\s*\\?")
_HASH = re.compile(r"\s+--hash=sha256:([0-9a-f]{64})\b")
_DIRECT = "-r "


class _Pin(NamedTuple):
    name: str
    line: str
    hashes: list[str]
    required_by: set[str]


def _parse(text: str) -> list[_Pin]:
    """The packages of a lock in uv's format: a line for each version, then its hashes, then what requires it."""
    packages: list[_Pin] = []
    for line in text.splitlines():
        if match := _PIN.fullmatch(line):
            packages.append(_Pin(match[1], match[1] + match[2], [], set()))
        elif packages and (match := _HASH.match(line)):
            packages[-1].hashes.append(match[1])
        elif packages and (comment := line.strip()).startswith("#"):
            packages[-1].required_by.add(comment.removeprefix("#").strip().removeprefix("via").strip())
    return packages


def pins(text: str) -> list[str]:
    """Every `name==version` of a lock, sorted, with its condition but without extras, hashes and comments."""
    return sorted(pin.line for pin in _parse(text))


def locked_hashes(text: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """Name and version of every package of a lock to the SHA-256 of each file that may be installed for it."""
    hashes: dict[tuple[str, str], tuple[str, ...]] = {}
    for pin in _parse(text):
        key = pin.name, pin.line.partition("==")[2].partition(";")[0].strip()
        hashes[key] = (*hashes.get(key, ()), *pin.hashes)
    return hashes


def measuring_pins(text: str) -> list[str]:
    """As `pins`, of the packages that measure: required directly or by those, and not in `NOT_MEASURING`."""
    candidates = [pin for pin in _parse(text) if pin.name not in NOT_MEASURING]
    names = {pin.name for pin in candidates if any(by.startswith(_DIRECT) for by in pin.required_by)}
    while more := {pin.name for pin in candidates if pin.required_by & names} - names:
        names |= more
    return sorted(pin.line for pin in candidates if pin.name in names)


def current_locks() -> dict[str, bytes]:
    """The lock files of this checkout."""
    return {name: root_path(name).read_bytes() for name in LOCK_FILES}
