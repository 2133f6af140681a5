"""The agents that everybody starts from: what `pullrank new` writes, and the form of the site."""

import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

TEMPLATE_FOLDER = Path(__file__).parents[1] / "templates"
# Lines that are written anew for the task, with such values only: an action is a number or zeros, and no code or table.
_FILLED_IN = re.compile(
    rb"^(?:(ACTION) = (?:-?\d{1,6}|[\[\]0., ]{1,2000})|(ENVIRONMENT) = \"[\w./:-]{1,100}\")$", re.MULTILINE
)


def is_starter(texts: Collection[bytes]) -> bool:
    """Whether an agent's files, without its manifest and without line ends around them, are a starter's, unchanged."""
    masked = {_masked(text) for text in texts}
    return bool(masked) and any(masked <= starter for starter in _starters())


@cache
def _starters() -> tuple[frozenset[bytes], ...]:
    folders = sorted(path for path in TEMPLATE_FOLDER.iterdir() if path.is_dir())
    return tuple(frozenset(_masked(path.read_bytes()) for path in folder.iterdir() if path.is_file()) for folder in folders)


def _masked(text: bytes) -> bytes:
    return _FILLED_IN.sub(rb"\1\2", text.replace(b"\r\n", b"\n").strip(b"\n"))
