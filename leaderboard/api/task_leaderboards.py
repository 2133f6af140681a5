"""The leaderboard of a task as JSON, as `pullrank rank --json` prints it and as the site has it."""

from collections.abc import Iterator
from typing import Annotated, Literal, NotRequired

from pydantic import Field

from evaluator.model.config.metric import Direction
from evaluator.model.config.task import Task
from evaluator.model.records.stored_record import SandboxKind
from evaluator.model.records.verdict import Verdict
from leaderboard.api.entry_json import (
    ClosedObject,
    EntryJson,
    EstimateJson,
    ExcludedJson,
    LinksJson,
    Medal,
    NextJson,
    PlaceJson,
    SourceJson,
    UtcTime,
    WaitingJson,
    WithdrawnJson,
    entry_document,
    estimate_document,
    excluded_document,
    json_fields,
    links_document,
    medal,
    next_document,
    place_document,
    waiting_document,
    withdrawn_document,
)
from leaderboard.core.standings import TaskFailure, TaskRow, TaskStandings
from leaderboard.scoring.metrics import metrics_of, value_or_none
from leaderboard.scoring.significance import compared_values, improvements_on_next
from leaderboard.text import serialise


class CostJson(ClosedObject):
    """What an agent used."""

    cpu_seconds: float | None
    wall_seconds: float
    peak_memory_bytes: int | None
    steps: int


class MetricJson(ClosedObject):
    """A metric of a task."""

    name: str
    kind: str
    direction: Direction
    decimals: int
    description: str
    threshold: float | None


class ScoresJson(ClosedObject):
    """What one result amounts to."""

    estimate: EstimateJson
    metrics: dict[str, float | None]
    attempts: int
    episodes: int
    key: str | None


def scores_document(row: TaskRow, task: Task) -> ScoresJson:
    """What a row's result amounts to."""
    result, values = row.result, (row.estimate.score, *row.others)
    names = [metric.name for metric in metrics_of(task)]
    return {
        "estimate": estimate_document(row.estimate),
        "metrics": {name: value_or_none(value) for name, value in zip(names, values, strict=True)},
        "attempts": row.versions_tried,
        "episodes": task.counted if result.sealed else row.episodes,
        # A result's file is found by its key, and the file's path holds the login.
        "key": None if row.entry.anonymous else result.key,
    }


class MeasuredJson(ScoresJson):
    """What was measured for a row."""

    evaluated_at: UtcTime
    cost: CostJson
    medal: Medal | None


def measured_document(row: TaskRow, task: Task) -> MeasuredJson:
    """What was measured for a row."""
    result = row.result
    return {
        **scores_document(row, task),
        "evaluated_at": result.provenance.evaluated_at,
        "cost": json_fields(CostJson, result.cost),
        "medal": None if row.estimate.is_missing else medal(row),
    }


class RankedRowJson(PlaceJson, EntryJson, ScoresJson, NextJson):
    """A row as `pullrank rank --json` prints it."""


def ranked_row(row: TaskRow, task: Task, beside: NextJson) -> RankedRowJson:
    """One row of a task's leaderboard."""
    return {**place_document(row), **entry_document(row.entry), **scores_document(row, task), **beside}


class RowJson(PlaceJson, EntryJson, MeasuredJson, NextJson, SourceJson, LinksJson):
    """A ranked entry of a task."""

    sandbox: Annotated[SandboxKind, Field(description="what held the agent")]
    since: Annotated[str, Field(description="when this version first had a score; UTC, ISO 8601")]


def task_row(row: TaskRow, task: Task, beside: NextJson) -> RowJson:
    """A row of a task, how it compares with the next one, and since when its version has a score."""
    return {
        **place_document(row), **entry_document(row.entry), **measured_document(row, task), **beside,
        **json_fields(SourceJson, row.entry.submission), "since": row.since, "sandbox": row.result.sandbox,
        **links_document(row.entry),
    }  # fmt: skip


def task_rows(board: TaskStandings) -> list[RowJson]:
    """All rows of a task, by place."""
    return [task_row(row, board.task, beside) for row, beside in task_improvements(board)]


def task_improvements(board: TaskStandings) -> Iterator[tuple[TaskRow, NextJson]]:
    """Each row of a task, and how it compares with the next one."""
    compared = improvements_on_next(compared_values(board.task, row.pooled_results) for row in board.rows)
    for row, on_next in zip(board.rows, compared, strict=True):
        yield row, next_document([on_next] if on_next else [])


class UnscoredJson(EntryJson):
    """An entry without a score as `pullrank rank --json` prints it."""

    verdict: Verdict
    message: str


def failure_document(failure: TaskFailure) -> UnscoredJson:
    """An entry without a score."""
    result = failure.result
    return {**entry_document(failure.entry), "verdict": result.verdict, "message": result.message}


class ClaimJson(ClosedObject):
    """The score that a training script says of itself, where it only claims one."""

    claimed: NotRequired[float | None]


def claim_document(failure: TaskFailure) -> ClaimJson:
    """The score that a script only claims."""
    return {} if failure.claimed is None else {"claimed": serialise.finite(failure.claimed)}


class FailureJson(UnscoredJson, ClaimJson, LinksJson):
    """An entry without a score."""

    attempts: int
    evaluated_at: UtcTime


def _failure(failure: TaskFailure) -> FailureJson:
    return {
        **failure_document(failure), **claim_document(failure), "attempts": failure.versions_tried,
        "evaluated_at": failure.result.provenance.evaluated_at, **links_document(failure.entry),
    }  # fmt: skip


class UnrankedJson(ClosedObject):
    """Entries of a task without a place."""

    waiting: list[WaitingJson]
    excluded: list[ExcludedJson]
    withdrawn: list[WithdrawnJson]


def _unranked(board: TaskStandings) -> UnrankedJson:
    return {
        "waiting": [waiting_document(entry, board.task) for entry in board.waiting],
        "excluded": [excluded_document(excluded) for excluded in board.excluded],
        "withdrawn": [withdrawn_document(withdrawn) for withdrawn in board.withdrawn],
    }


class TaskStandingsJson(UnrankedJson):
    """A task as `pullrank rank --json` prints it."""

    task: str
    metrics: list[MetricJson]
    ties: list[str]
    rows: list[RankedRowJson]
    failures: list[UnscoredJson]


def task_document(board: TaskStandings) -> TaskStandingsJson:
    """One task's leaderboard."""
    return {
        "task": board.task.id,
        "metrics": [json_fields(MetricJson, metric) for metric in metrics_of(board.task)],
        "ties": list(board.task.ties),
        "rows": [ranked_row(row, board.task, beside) for row, beside in task_improvements(board)],
        "failures": [failure_document(failure) for failure in board.failures],
        **_unranked(board),
    }


class LeaderboardHeadJson(ClosedObject):
    """Of which task, in which order; `count` is of all rows."""

    task: str
    order: Literal["place", "newest", "oldest"]
    count: int


class TaskUnrankedJson(UnrankedJson):
    """Entries of a task without a place, failures too."""

    failures: list[FailureJson]


class LeaderboardJson(LeaderboardHeadJson, TaskUnrankedJson):
    """A task's leaderboard by place."""

    rows: list[RowJson]


def task_leaderboard(board: TaskStandings, rows: list[RowJson]) -> LeaderboardJson:
    """A task's leaderboard with all that pages show of it."""
    failures = [_failure(failure) for failure in board.failures]
    return {
        "task": board.task.id, "order": "place", "count": len(rows), "rows": rows, "failures": failures, **_unranked(board),
    }  # fmt: skip
