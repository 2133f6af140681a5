"""Output of the command: lines and JSON; exit codes and the error that ends a command."""

import contextlib
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from evaluator.model.visible_text import one_line, printable_line, visible, without_commands

if TYPE_CHECKING:
    from rich.console import Console

# Exit codes; site/pages/commands.md has examples of each.
OK = 0
SUBMISSION_AT_FAULT = 1
"""A submission, a record or a setting is not what it must be."""
USAGE = 2
"""The command was called wrongly, or challenge.yml has a fault."""
OUR_FAULT = 3
"""The engine, an environment or the evaluator failed."""
STOPPED = 130
"""By a signal: 128 and the number of SIGINT, as a shell has it."""

# Outside of texts JSON has no such characters, and in one the second may be written as an escape.
_COMMAND_IN_JSON = re.compile("##")
LINE_CHARACTERS = 500
# The place that a message begins with: a path, perhaps with a line.
_PLACE = re.compile(r"([^\s:']+(?::\d+)?): ")


class CommandError(Exception):
    """Ends a command with an exit code; the message has one line for each fault, whatever a fault quotes."""

    def __init__(self, code: int, *lines: str) -> None:
        super().__init__("\n".join(map(printable_line, lines)))
        self.code = code

    def __reduce__(self) -> tuple[type["CommandError"], tuple[int | str, ...]]:
        return type(self), (self.code, *str(self).split("\n"))


def say(text: str) -> None:
    """Print one line, or several that our own code separates, on standard error; standard output is for documents."""
    sys.stderr.write("".join(f"{printable_line(line)}\n" for line in text.split("\n")))


def escape_commands(text: str) -> str:
    """One line of at most 500 characters that no runner takes for a command; without control characters."""
    line = without_commands(one_line(text)).replace("::", ": :")
    return line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 1] + "…"


# The descriptor of standard output while everything else that is printed goes to standard error.
_kept_for_json: list[int] = []


def keep_stdout_for_json() -> None:
    """Leave standard output to `print_json`: what a host's environment prints, also in processes to come, is no document."""
    sys.stdout.flush()
    _kept_for_json.append(os.dup(sys.stdout.fileno()))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print one JSON document on standard output, in which nothing is hidden and no runner finds a command."""
    text = visible(json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False))
    text = _COMMAND_IN_JSON.sub(lambda _: "#\\u0023", text) + "\n"
    if not _kept_for_json:
        sys.stdout.write(text)
        return
    stream = sys.stdout
    # Whoever reads may have seen enough.
    with (
        contextlib.suppress(BrokenPipeError),
        open(_kept_for_json[-1], "w", encoding=stream.encoding, errors=stream.errors, closefd=False) as output,
    ):
        output.write(text)


def fault_parts(line: str) -> dict[str, str]:
    """A message of one line in its parts: what is wrong, where, and what to do; what it does not have is empty."""
    place = _PLACE.match(line)
    what, _, hint = line[place.end() if place else 0 :].partition("; ")
    return {"what": what, "where": place[1] if place else "", "hint": hint}


def print_faults(message: str, code: int) -> None:
    """Print the faults that ended a command as a JSON document on standard output."""
    print_json({"code": code, "errors": [fault_parts(line) for line in message.split("\n")]})


def stderr_console() -> "Console":
    """A rich console on standard error."""
    # Imported late: most commands print plain lines only.
    from rich.console import Console

    return Console(stderr=True, highlight=False)
