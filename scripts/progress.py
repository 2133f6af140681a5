"""What people see while something takes its time: a line that changes, or a bar."""

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


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
