"""Output of the command: lines, JSON and progress bars; exit codes and the error that ends a command."""

import contextlib
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from evaluator.host.progress import PlayProgress, ReportProgress
from evaluator.model.visible_text import one_line, printable_line, visible, without_commands

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

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


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print one JSON document on standard output, in which nothing is hidden and no runner finds a command."""
    text = visible(json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False))
    sys.stdout.write(_COMMAND_IN_JSON.sub(lambda _: "#\\u0023", text) + "\n")


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
    # Imported late, here and below: most commands print plain lines only.
    from rich.console import Console

    return Console(stderr=True, highlight=False)


@contextlib.contextmanager
def progress_bar(title: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A progress bar, shown on a terminal only; yields a function that sets how many steps are done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = stderr_console()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task(title, total=total)
        yield lambda done: progress.update(task, completed=done)


class PlayDisplay:
    """A line for each evaluation that is being played, and one for all of them."""

    def __init__(self, progress: "Progress", total: int) -> None:
        self._progress = progress
        self._all = progress.add_task("All", total=total, text=f"0/{total}", visible=total > 1)
        self._done, self._total = 0, total

    @contextlib.contextmanager
    def line(self, title: str) -> Iterator[ReportProgress]:
        """A line while the block lasts; yields the function that moves it."""
        line = self._progress.add_task(title, total=1.0, text="starting")

        def report(played: PlayProgress) -> None:
            self._progress.update(line, completed=played.share, text=progress_in_words(played))

        yield report
        self._progress.remove_task(line)
        self._done += 1
        self._progress.update(self._all, completed=self._done, text=f"{self._done}/{self._total}")

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Without the thread that draws, while the block lasts."""
        if self._progress.disable:
            yield
            return
        self._progress.stop()
        try:
            yield
        finally:
            self._progress.start()


def progress_in_words(played: PlayProgress) -> str:
    """What is done, and the mean of the scores so far with its interval."""
    words = f"{played.done:,}/{played.total:,}"
    if played.steps and played.steps != played.done:
        words += f", {played.steps:,} steps"
    if len(played.scores) > 1:
        words += f", {mean_in_words(played.scores)}"
    return words


def mean_in_words(scores: Sequence[float]) -> str:
    """The mean of two scores or more, with its interval; no result holds one beyond ±1e100."""
    # Imported late: they take as long as a small command.
    import statistics

    from leaderboard.core.entry import CONFIDENCE

    if not all(abs(score) <= 1e100 for score in scores):
        return "no number"
    normal = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    spread = normal * statistics.stdev(scores) / math.sqrt(len(scores))
    return f"{statistics.fmean(scores):.4g} ± {spread:.2g}"


@contextlib.contextmanager
def play_display(total: int, *, quiet: bool) -> Iterator[PlayDisplay]:
    """The display of evaluations, on a terminal only."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = stderr_console()
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(bar_width=20),
        TextColumn("{task.fields[text]}", markup=False), TimeRemainingColumn(),
    )  # fmt: skip
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden, speed_estimate_period=120) as progress:
        yield PlayDisplay(progress, total)
