"""How far a command is, on a terminal: a bar for what takes long, and a line for each evaluation that is being played."""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from evaluator.host.progress import PlayProgress, ReportProgress
from scripts.console import stderr_console

if TYPE_CHECKING:
    from rich.progress import Progress


@contextlib.contextmanager
def progress_bar(title: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A progress bar, shown on a terminal only; yields a function that sets how many steps are done."""
    # Imported late, here and below: most commands show no progress.
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
