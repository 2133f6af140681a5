"""Outputs of a workflow step for later jobs, and the step's summary."""

import json
import re
from pathlib import Path
from typing import Any

from scripts.console import OUR_FAULT, CommandError

OUTPUT_NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")
# GitHub drops the whole summary above this, and allows 1 MiB of outputs for a job (it counts two bytes a character).
SUMMARY_BYTES = 1 << 20
OUTPUT_CHARACTERS = 1 << 19
SUMMARY_CUT = "\n\n… the rest does not fit here.\n"


def write_output(path: Path | None, name: str, value: Any) -> None:
    """Append one output, as JSON on one line, so that untrusted text cannot begin a line of its own.

    Raises:
        CommandError: the name is malformed, or the value is too large for GitHub.
    """
    if not OUTPUT_NAME.fullmatch(name):
        raise CommandError(OUR_FAULT, f"{name[:80]!r} is not a name for an output")
    line = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    if len(line) > OUTPUT_CHARACTERS:
        raise CommandError(OUR_FAULT, f"the output {name} has {len(line):,} characters; GitHub takes {OUTPUT_CHARACTERS:,}")
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{name}={line}\n")


def write_summary(path: Path | None, markdown: str) -> None:
    """Append to the step's summary, cut to GitHub's limit; does nothing without a path."""
    if path is None:
        return
    before = path.stat().st_size if path.exists() else 0
    room = SUMMARY_BYTES - before - len(SUMMARY_CUT.encode()) - 1
    encoded = markdown.encode("utf-8", "replace")
    if room <= 0:
        return
    text = markdown if len(encoded) <= room else encoded[:room].decode("utf-8", "ignore") + SUMMARY_CUT
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(text if text.endswith("\n") else text + "\n")
