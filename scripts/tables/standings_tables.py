"""Tables for the terminal."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict, in_plain_words
from leaderboard.charts.interval_chart import is_other_claim
from leaderboard.core.standings import OverallRow, Row, Standings, TaskStandings
from leaderboard.scoring.intervals import measured_estimate, values
from leaderboard.scoring.metrics import arrow, better, digits, is_missing, metrics_of, other_metrics, ranking
from leaderboard.text.format import NONE
from scripts.tables.game_tables import game_tables


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
    _metrics_table(challenge, results)
    for result in results:
        if result.verdict is not Verdict.OK:
            _explain(result)
        elif task := challenge.task(result.task):
            for line in remarks(task, result):
                _console().print(Text(f"{task.id}: {line}"))


def remarks(task: Task, result: Result) -> Iterator[str]:
    """What the author of a script should know beside its score."""
    record, rules = result.script, task.script
    if record is None or rules is None:
        return
    counted = record.counted(rules)
    mean = sum(counted.returns) / len(counted.returns)
    end = counted.first + rules.last
    missing = max(0, end - len(record.returns))
    lost = sum(counted.first <= number < end for number in record.unfinished) + missing
    if missing == rules.last:
        yield "it ended before its training steps did, and only episodes begun after them count: train until they are over"
    if record.exhausted:
        yield f"it asked for more when the run had ended, after {record.steps:,} of {rules.steps:,} steps"
    if lost:
        yield f"{lost} of the {rules.last} episodes that count were not played to their end: {rules.worst:g} for each"
    if record.claimed is not None and is_other_claim(record.claimed, mean, digits(task)):
        yield f"it printed the score {record.claimed:g}, and the episodes that count have the mean {mean:g}"
    yield from record.notices


def _numbers(challenge: Challenge, result: Result) -> list[str]:
    task = challenge.task(result.task)
    memory = result.cost.peak_memory_bytes
    cost = [
        "" if result.cost.cpu_seconds is None else f"{result.cost.cpu_seconds:.1f}",
        "" if memory is None else f"{memory / 2**20:.0f} MiB",
    ]
    if result.verdict is not Verdict.OK or task is None:
        return ["", "", "", "", *cost]
    found = measured_estimate([result], task)
    score, low, high = (_number(float(value[0]), digits(task)) for value in (found.score, found.low, found.high))
    return [
        score,
        _span(low, high),
        "" if result.sealed else str(len(result.returns)),
        "" if result.sealed else str(result.cost.steps),
        *cost,
    ]


def _metrics_table(challenge: Challenge, results: list[Result]) -> None:
    """Every metric of the tasks whose metrics the host named."""
    table = Table(box=None, pad_edge=False)
    for name in ("task", "metric", "value", "better"):
        table.add_column(name, justify="right" if name == "value" else "left")
    for result in results:
        task = challenge.task(result.task)
        for metric in task.metrics if task and result.verdict is Verdict.OK else ():
            value = _number(values([result], task, metric)[0], metric.decimals) if task else NONE
            table.add_row(result.task, Text(metric.name), value, metric.direction.value)
    if table.row_count:
        _console().print()
        _console().print(table)


def _number(value: float, decimals: int) -> str:
    return NONE if is_missing(value) else f"{value:.{decimals}f}"


def _span(low: str, high: str) -> str:
    return NONE if NONE in (low, high) else f"{low} … {high}"


def _explain(result: Result) -> None:
    console = _console()
    console.print(Text(f"\n{result.task}: {result.verdict}. {in_plain_words(result.verdict)}\n  {result.message}"))
    if result.log_tail.strip():
        console.print(Text("  The end of its log:"))
        for line in result.log_tail.splitlines()[-15:]:
            console.print(Text(f"  | {line}"))


def standings_tables(standings: Standings) -> None:
    """The overall board, each task's and each game's."""
    console = _console()
    console.print(Text(f"{standings.challenge.title}, season {standings.challenge.season}", style="bold"))
    if not standings.official:
        console.print(Text("A local board: public seeds, measured on this machine."))
    if standings.overall:
        console.print(_overall_table(standings))
    for board in standings.tasks:
        console.print(task_table(board))
    for game in standings.games:
        game_tables(game)


def _overall_table(standings: Standings) -> Table:
    table = Table(box=None, pad_edge=False, title="Overall", title_justify="left")
    for name in ("place", "rank", "agent", "author", "score", "95 % interval"):
        table.add_column(name, justify="left" if name in ("agent", "author") else "right")
    for row in standings.overall:
        found = row.estimate
        table.add_row(
            *_place(row), Text(row.entry.submission.name), Text(row.entry.login),
            f"{found.score:.3f}", f"{found.low:.3f} … {found.high:.3f}",
        )  # fmt: skip
    return table


def task_table(board: TaskStandings) -> Table:
    """One task's board."""
    task = board.task
    table = Table(box=None, pad_edge=False, title=f"\n{task.title or task.id}", title_justify="left")
    names = [f"{metric.name} {arrow(metric)}" for metric in task.metrics] or ["score"]
    for name in ("place", "rank", "agent", "author", names[0], "95 % interval", *names[1:], "verdict"):
        is_text = name in ("agent", "author", "verdict")
        table.add_column(Text(name), justify="left" if is_text else "right", no_wrap=name == "95 % interval")
    if task.metrics:
        words = ", ".join(f"{metric.name}: {better(metric)}" for metric in metrics_of(task))
        table.caption, table.caption_justify = Text(f"{words}; {ranking(task).name} ranks"), "left"
    for row in board.rows:
        table.add_row(*_row(task, row))
    gap = [""] * len(other_metrics(task))
    for failure in board.failures:
        who = failure.entry
        table.add_row("", "", Text(who.submission.name), Text(who.login), "", "", *gap, failure.result.verdict)
    for out in board.excluded:
        table.add_row("", "", Text(out.agent), Text(out.login), "", "", *gap, "excluded")
    for left in board.withdrawn:
        score = "" if left.score is None else f"{left.score:.{digits(task)}f}"
        table.add_row("", "", Text(left.agent), Text(left.login), score, "", *gap, "withdrawn")
    return table


def _row(task: Task, row: Row) -> list[str | Text]:
    found = row.estimate
    score, low, high = (_number(value, digits(task)) for value in (found.score, found.low, found.high))
    beside = [_number(value, metric.decimals) for metric, value in zip(other_metrics(task), row.others, strict=True)]
    place = [NONE, NONE] if found.is_missing else _place(row)
    who = [Text(row.entry.submission.name), Text(row.entry.login)]
    return [*place, *who, score, _span(low, high), *beside, "ok"]


def _place(row: Row | OverallRow) -> list[str]:
    """Place and ranks; what is listed for comparison has none."""
    return [NONE, NONE] if row.entry.is_aside else [str(row.place), _range(row.rank_low, row.rank_high)]


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"
