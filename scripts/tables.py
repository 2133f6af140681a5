"""Tables for the terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evaluator.model.challenge import Challenge
from evaluator.model.result import Result
from evaluator.model.verdict import Verdict, in_plain_words
from leaderboard.estimate import estimates
from leaderboard.standings import Standings, TaskBoard


def _console() -> Console:
    return Console(highlight=False)


def evaluation_table(challenge: Challenge, results: list[Result]) -> None:
    """What an evaluation gave, one row per task; a failure with its reason and the end of its log."""
    table = Table(box=None, pad_edge=False)
    for name in ("task", "verdict", "score", "95 % interval", "episodes", "steps", "cpu s", "memory"):
        table.add_column(name, justify="left" if name in ("task", "verdict") else "right")
    for result in results:
        table.add_row(result.task, result.verdict, *_numbers(challenge, result))
    _console().print(table)
    for result in results:
        if result.verdict is not Verdict.OK:
            _explain(result)


def _numbers(challenge: Challenge, result: Result) -> list[str]:
    task = challenge.task(result.task)
    memory = result.cost.peak_memory_bytes
    cost = [
        "" if result.cost.cpu_seconds is None else f"{result.cost.cpu_seconds:.1f}",
        "" if memory is None else f"{memory / 2**20:.0f} MiB",
    ]
    if result.verdict is not Verdict.OK or task is None:
        return ["", "", "", "", *cost]
    found = estimates([result.returns], task)
    score, low, high = (f"{value[0]:.{task.decimals}f}" for value in (found.score, found.low, found.high))
    return [score, f"{low} … {high}", str(len(result.returns)), str(result.cost.steps), *cost]


def _explain(result: Result) -> None:
    console = _console()
    console.print(Text(f"\n{result.task}: {result.verdict}. {in_plain_words(result.verdict)}\n  {result.message}"))
    if result.log_tail.strip():
        console.print(Text("  The end of its log:"))
        for line in result.log_tail.splitlines()[-15:]:
            console.print(Text(f"  | {line}"))


def standings_tables(standings: Standings) -> None:
    """The overall board and each task's."""
    console = _console()
    console.print(Text(f"{standings.challenge.title}, season {standings.challenge.season}", style="bold"))
    if not standings.official:
        console.print(Text("A local board: public seeds, measured on this machine."))
    table = Table(box=None, pad_edge=False, title="Overall", title_justify="left")
    for name in ("place", "rank", "agent", "author", "score", "95 % interval"):
        table.add_column(name, justify="left" if name in ("agent", "author") else "right")
    for row in standings.overall:
        found = row.estimate
        table.add_row(
            str(row.place), _range(row.rank_low, row.rank_high), Text(row.entry.submission.name), Text(row.entry.login),
            f"{found.score:.3f}", f"{found.low:.3f} … {found.high:.3f}",
        )  # fmt: skip
    console.print(table)
    for board in standings.tasks:
        console.print(task_table(board))


def task_table(board: TaskBoard) -> Table:
    """One task's board."""
    table = Table(box=None, pad_edge=False, title=f"\n{board.task.title or board.task.id}", title_justify="left")
    for name in ("place", "rank", "agent", "author", "score", "95 % interval", "verdict"):
        table.add_column(name, justify="left" if name in ("agent", "author", "verdict") else "right")
    for row in board.rows:
        score, low, high = (
            f"{value:.{board.task.decimals}f}" for value in (row.estimate.score, row.estimate.low, row.estimate.high)
        )
        table.add_row(
            str(row.place), _range(row.rank_low, row.rank_high), Text(row.entry.submission.name), Text(row.entry.login),
            score, f"{low} … {high}", "ok",
        )  # fmt: skip
    for failure in board.failures:
        who = failure.entry
        table.add_row("", "", Text(who.submission.name), Text(who.login), "", "", failure.result.verdict)
    for out in board.excluded:
        table.add_row("", "", Text(out.agent), Text(out.login), "", "", "excluded")
    for left in board.withdrawn:
        score = "" if left.score is None else f"{left.score:.{board.task.decimals}f}"
        table.add_row("", "", Text(left.agent), Text(left.login), score, "", "withdrawn")
    return table


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"
