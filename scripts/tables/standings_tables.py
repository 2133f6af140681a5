"""Tables of evaluations and standings for the terminal."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.charts.interval_chart import is_other_claim
from leaderboard.core.standings import Estimate, OverallRow, Row, Standings, TaskStandings
from leaderboard.scoring.intervals import measured_estimate, values
from leaderboard.scoring.metrics import arrow, better, digits, is_missing, metrics_of, other_metrics, ranking
from leaderboard.scoring.score_all import MOST_COUNTED
from leaderboard.text.format import NONE, provisional
from scripts.tables.game_tables import game_tables


def _console() -> Console:
    return Console(highlight=False)


def evaluation_table(challenge: Challenge, results: list[Result]) -> None:
    """Print an evaluation: one row per task, metrics, and the reason and log of failures."""
    table = Table(box=None, pad_edge=False)
    for name in ("task", "verdict", "score", "95 % interval", "episodes", "steps", "cpu s", "memory"):
        table.add_column(name, justify="left" if name in ("task", "verdict") else "right")
    for result in results:
        table.add_row(result.task, result.verdict, *_number_cells(challenge, result))
    _console().print(table)
    _metrics_table(challenge, results)
    for result in results:
        if result.verdict is not Verdict.OK:
            _print_failure(result)
        elif task := challenge.task(result.task):
            for line in script_remarks(task, result):
                _console().print(Text(f"{task.id}: {line}"))


def script_remarks(task: Task, result: Result) -> Iterator[str]:
    """Remarks for the author of a training script, beside its score."""
    record, rules = result.script, task.script
    if record is None or rules is None:
        return
    counted = record.counted(rules)
    mean = sum(counted.returns) / len(counted.returns)
    end = counted.first + rules.last
    missing = max(0, end - len(record.returns))
    unfinished = sum(counted.first <= number < end for number in record.unfinished) + missing
    if missing == rules.last:
        yield "it ended before its training steps did, and only episodes begun after them count: train until they are over"
    if record.exhausted:
        yield f"it asked for more when the run had ended, after {record.steps:,} of {rules.steps:,} steps"
    if unfinished:
        yield f"{unfinished} of the {rules.last} episodes that count were not played to their end: {rules.worst:g} for each"
    if record.claimed is not None and is_other_claim(record.claimed, mean, digits(task)):
        yield f"it printed the score {record.claimed:g}, and the episodes that count have the mean {mean:g}"
    yield from record.notices


def _number_cells(challenge: Challenge, result: Result) -> list[str]:
    task = challenge.task(result.task)
    memory = result.cost.peak_memory_bytes
    cost = [
        "" if result.cost.cpu_seconds is None else f"{result.cost.cpu_seconds:.1f}",
        "" if memory is None else f"{memory / 2**20:.0f} MiB",
    ]
    if result.verdict is not Verdict.OK or task is None:
        return ["", "", "", "", *cost]
    estimate = measured_estimate([result], task)
    score, low, high = (_number(float(value[0]), digits(task)) for value in (estimate.score, estimate.low, estimate.high))
    return [
        score,
        _interval(low, high),
        "" if result.sealed else str(len(result.returns)),
        "" if result.sealed else str(result.cost.steps),
        *cost,
    ]


def _metrics_table(challenge: Challenge, results: list[Result]) -> None:
    """Print every metric of tasks whose metrics are set in challenge.yml."""
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


def _interval(low: str, high: str) -> str:
    return NONE if NONE in (low, high) else f"{low} … {high}"


def _print_failure(result: Result) -> None:
    console = _console()
    console.print(Text(f"\n{result.task}: {result.verdict}. {result.verdict.plain_words}\n  {result.message}"))
    if result.log_tail.strip():
        console.print(Text("  The end of its log:"))
        for line in result.log_tail.splitlines()[-15:]:
            console.print(Text(f"  | {line}"))


def standings_tables(standings: Standings) -> None:
    """Print the overall standings, and those of each task and game."""
    console = _console()
    console.print(Text(f"{standings.challenge.title}, season {standings.challenge.season}", style="bold"))
    if not standings.official:
        console.print(Text("A local leaderboard: public seeds, measured on this machine."))
    if standings.overall:
        console.print(_overall_table(standings))
    for task in standings.tasks:
        console.print(task_table(task))
    for game in standings.games:
        game_tables(game)


def _overall_table(standings: Standings) -> Table:
    table = Table(box=None, pad_edge=False, title="Overall", title_justify="left")
    for name in ("place", "rank", "tasks", "agent", "author", "score", "95 % interval", "IQM", "95 % interval"):
        table.add_column(name, justify="left" if name in ("agent", "author") else "right", no_wrap=name.startswith("95"))
    for row in standings.overall:
        capped = any(value is not None and value > MOST_COUNTED for value in row.normalised.values())
        score, *cells = (*_estimate_cells(row.estimate), *_estimate_cells(row.iqm))
        table.add_row(
            *_place_cells(row), f"{row.played}/{len(row.normalised)}", Text(row.entry.submission.name),
            Text(row.entry.login), f"{score}{'*' if capped else ''}", *cells,
        )  # fmt: skip
        if capped:
            table.caption, table.caption_justify = f"*: the score of a task counts as {MOST_COUNTED:g}, the most", "left"
    return table


def _estimate_cells(estimate: Estimate) -> tuple[str, str]:
    score, low, high = (_number(value, 3) for value in (estimate.score, estimate.low, estimate.high))
    return score, _interval(low, high)


def task_table(standings: TaskStandings) -> Table:
    """The standings of one task."""
    task = standings.task
    table = Table(box=None, pad_edge=False, title=f"\n{task.title or task.id}", title_justify="left")
    names = [f"{metric.name} {arrow(metric)}" for metric in task.metrics] or ["score"]
    for name in ("place", "rank", "agent", "author", names[0], "95 % interval", *names[1:], "verdict"):
        is_text = name in ("agent", "author", "verdict")
        table.add_column(Text(name), justify="left" if is_text else "right", no_wrap=name == "95 % interval")
    if task.metrics:
        directions = ", ".join(f"{metric.name}: {better(metric)}" for metric in metrics_of(task))
        table.caption, table.caption_justify = Text(f"{directions}; {ranking(task).name} ranks"), "left"
    for row in standings.rows:
        table.add_row(*_row_cells(task, row))
    gap = [""] * len(other_metrics(task))
    for failure in standings.failures:
        entry = failure.entry
        table.add_row("", "", Text(entry.submission.name), Text(entry.login), "", "", *gap, failure.result.verdict)
    for excluded in standings.excluded:
        table.add_row("", "", Text(excluded.agent), Text(excluded.login), "", "", *gap, "excluded")
    for withdrawn in standings.withdrawn:
        score = "" if withdrawn.score is None else f"{withdrawn.score:.{digits(task)}f}"
        table.add_row("", "", Text(withdrawn.agent), Text(withdrawn.login), score, "", *gap, "withdrawn")
    return table


def _row_cells(task: Task, row: Row) -> list[str | Text]:
    estimate = row.estimate
    score, low, high = (_number(value, digits(task)) for value in (estimate.score, estimate.low, estimate.high))
    others = [_number(value, metric.decimals) for metric, value in zip(other_metrics(task), row.others, strict=True)]
    place = [NONE, NONE] if estimate.is_missing else _place_cells(row)
    names = [Text(row.entry.submission.name), Text(row.entry.login)]
    return [*place, *names, score, _interval(low, high), *others, provisional(row.tries) or "ok"]


def _place_cells(row: Row | OverallRow) -> list[str]:
    """Place and rank range; baselines and other entries aside have none."""
    return [NONE, NONE] if row.entry.is_aside else [str(row.place), _rank_range(row.rank_low, row.rank_high)]


def _rank_range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"
