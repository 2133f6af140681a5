"""How the command speaks: one JSON document for machines, one line for an error; bars and tables are in `progress`."""

import json
import sys
from typing import Any

OK, SUBMISSION_AT_FAULT, USAGE, OUR_FAULT = 0, 1, 2, 3
# Control characters but for the tab and the end of a line: a terminal would obey them.
_CONTROLS = dict.fromkeys({*range(32), *range(127, 160)} - {ord("\t"), ord("\n")})


class CommandError(Exception):
    """Ends a verb: one line for each fault, and the exit code."""

    def __init__(self, code: int, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.code = code


def say(text: str) -> None:
    """One plain line for people, on standard error, so that standard output stays a document or a table."""
    sys.stderr.write(text.translate(_CONTROLS) + "\n")


def print_json(value: Any, indent: int | None = 2) -> None:
    """The one document for machines."""
    sys.stdout.write(json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + "\n")
