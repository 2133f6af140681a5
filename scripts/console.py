"""What people see while something takes its time: a line that changes, or a bar."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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


def people() -> Console:
    """Where people read: standard error, so that standard output stays a document or a table."""
    return Console(stderr=True, highlight=False)


@contextlib.contextmanager
def bar(title: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, nothing elsewhere; yields the function that sets how much is done."""
    with titled_bar(title, total, quiet=quiet) as tell:
        yield lambda done: tell(done, None)


@contextlib.contextmanager
def titled_bar(title: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[int, str | None], None]]:
    """A bar over many things; yields the function that sets how much is done and, unless None, what is being done."""
    console = people()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task(title, total=total)
        yield lambda done, now: progress.update(task, completed=done, description=now)
