"""The columns of a task's table, and the document of bare values that the page's script sorts and filters.

A column is defined here once. Its name and value are used for `table.json` and for the CSV file. The page itself has place,
agent, score, algorithm and date; a column with a label here is offered by its menu of columns. `cells.js` has a function for
each column that is drawn otherwise than as plain text or a number.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evaluator.model.config.metric import Direction, Metric
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.api.entry_json import ClosedObject, FlagsJson, flags, picked
from leaderboard.api.game_leaderboards import GameRowJson
from leaderboard.api.task_leaderboards import MetricJson, RowJson
from leaderboard.core.entry import Entry, Excluded
from leaderboard.core.game_standings import GameStandings
from leaderboard.core.standings import TaskStandings, WithdrawnScore
from leaderboard.scoring.metrics import metrics_of
from leaderboard.text import format, serialise

AnyRow = RowJson | GameRowJson
ColumnKind = Literal["text", "number", "list", "metric"]


class ColumnHeadJson(ClosedObject):
    """How the page's script shows a column; without a label it is a part of another one, or the page has its head."""

    label: str
    title: str
    kind: ColumnKind


class TableJson(ClosedObject):
    """Values in the order of the columns, for the failures too; `heads` are in that order as well."""

    task: str
    columns: list[str]
    heads: list[ColumnHeadJson]
    rows: list[list[Any]]
    failures: list[list[Any]]
    decimals: int
    direction: Direction
    metrics: list[MetricJson]
    leader: int | None


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of a task's table."""

    name: str
    kind: ColumnKind
    value: Callable[[Any], Any]
    """The value of a row of the leaderboard's document."""
    label: str = ""
    """Its head; empty for a part of another column, and where the page has a head of its own."""
    title: str = ""
    """What it is, in a few words."""


def _column(name: str, kind: ColumnKind = "number", **words: str) -> Column:
    """A column with a value that stands in the row under the same name."""
    return Column(name=name, kind=kind, value=lambda row: row.get(name), **words)


def _cost(name: str, **words: str) -> Column:
    return Column(name=name, kind="number", value=lambda row: row["cost"][name], **words)


def _nothing(name: str) -> Column:
    """A column that games have for the sake of one form for all tables."""
    return Column(name=name, kind="number", value=lambda row: None)


def _estimate(name: str) -> Column:
    return Column(name=name, kind="number", value=lambda row: row["estimate"][name])


def _rating(name: str, key: str) -> Column:
    return Column(name=name, kind="number", value=lambda row: row["rating"][key])


def _metric(metric: Metric) -> Column:
    # With a prefix, since a host may call a metric like another column.
    return Column(
        name=f"metric:{metric.name}", kind="metric", value=lambda row: row["metrics"][metric.name], label=metric.name,
        title=metric.description,
    )  # fmt: skip


_PLACE = (_column("place"), _column("rank_low"), _column("rank_high"), _column("with_leader"), _column("tries"))
_LOGIN = _column("login", "text", label="Author", title="the account that submitted it")
_WHO = (_LOGIN, _column("agent", "text"), _column("name", "text"), _column("algorithm", "text"))
_AUTHORS = Column(name="authors", kind="text", value=lambda row: ", ".join(row["authors"]))
_SCORE = (_estimate("score"), _estimate("low"), _estimate("high"))
_ELO_COLUMNS = (_rating("score", "elo"), _rating("low", "low"), _rating("high", "high"))
_EPISODES_COLUMN = _column("episodes", label="Episodes", title="that count")
_ATTEMPTS_COLUMN = _column("attempts", label="Attempts", title="versions of its owner, or team, that were evaluated")
_CPU = _cost("cpu_seconds", label="CPU", title="processor seconds of the agent in all episodes")
_MEMORY_COLUMN = _cost("peak_memory_bytes", label="Memory", title="the agent's largest memory")
_KIND = _column("kind", "text", label="Kind", title="policy, script or image")
_SANDBOX_COLUMN = _column("sandbox", "text", label="Sandbox", title="what held the agent: docker or gvisor")
_DAY = Column(name="evaluated_at", kind="text", value=lambda row: format.day(row["evaluated_at"]))
_FLAGS = Column(name="flags", kind="list", value=lambda row: set_flags(row))
_WHY = (
    Column(
        name="verdict", kind="text", value=lambda row: Verdict.OK, label="Verdict", title="how the evaluation ended",
    ),
    Column(
        name="message", kind="text", value=lambda row: format.held_reason(row["held_by"]) if "held_by" in row else "",
        label="Why", title="the reason where there is no score or no place",
    ),
)  # fmt: skip
_RESULT_COLUMNS = (
    _column("wins", label="Won"), _column("draws", label="Drawn"), _column("losses", label="Lost"),
    _column("errors", label="Errors", title="matches lost by breaking a rule or by an error"),
    _column("points", label="Points", title="2 for a win, 1 for a draw"),
    _column("opponents", label="Met", title="opponents met"),
)  # fmt: skip
_GAME_COLUMNS = (
    *_PLACE, *_WHO, _AUTHORS, *_ELO_COLUMNS, *_RESULT_COLUMNS, _column("episodes"), _ATTEMPTS_COLUMN,
    _nothing("cpu_seconds"), _nothing("peak_memory_bytes"), _column("kind", "text"), _nothing("sandbox"), _DAY, _FLAGS,
    *_WHY,
)  # fmt: skip

_CSV_AUTHORS = Column(name="authors", kind="text", value=lambda row: "; ".join(row["authors"]))
_CSV_FLAGS = Column(name="flags", kind="text", value=lambda row: " ".join(set_flags(row)))
_CSV_FIRST = (*_PLACE, *_WHO, _CSV_AUTHORS, _KIND)
_CSV_LAST = (
    _ATTEMPTS_COLUMN, _EPISODES_COLUMN, _column("key", "text"), _column("evaluated_at", "text"), _column("medal", "text"),
    _column("since", "text"), _column("page", "text"), _CPU, _cost("wall_seconds"), _MEMORY_COLUMN, _cost("steps"),
    _CSV_FLAGS, _column("sandbox", "text"),
)  # fmt: skip
_GAME_CSV = (
    *_CSV_FIRST, *_ELO_COLUMNS, *map(_column, ("wins", "draws", "losses", "errors")),
    # Beside the rating, a game's own score needs another name.
    Column(name="returns", kind="number", value=lambda row: row["score"]),
    *map(_column, ("points", "points_place", "opponents", "attempts", "since", "evaluated_at", "episodes", "medal", "page")),
    _CSV_FLAGS,
)  # fmt: skip


def task_columns(task: Task) -> tuple[Column, ...]:
    """The columns of a task's table."""
    further = map(_metric, metrics_of(task)[1:])
    return (
        *_PLACE, *_WHO, _AUTHORS, *_SCORE, *further, _EPISODES_COLUMN, _ATTEMPTS_COLUMN, _CPU, _MEMORY_COLUMN, _KIND,
        _SANDBOX_COLUMN, _DAY, _FLAGS, *_WHY,
    )  # fmt: skip


def task_csv(task: Task, rows: Sequence[RowJson]) -> bytes:
    """A task's leaderboard, one line for each row."""
    return _csv((*_CSV_FIRST, *_SCORE, *map(_metric, metrics_of(task)[1:]), *_CSV_LAST), rows)


def game_csv(rows: Sequence[GameRowJson]) -> bytes:
    """A game's leaderboard, one line for each row."""
    return _csv(_GAME_CSV, rows)


def _csv(columns: Sequence[Column], rows: Sequence[AnyRow]) -> bytes:
    """Without rows, the head ends after the score's interval."""
    names = [column.name for column in columns]
    head = names if rows else names[: names.index("high") + 1]
    return serialise.csv_text([head, *([column.value(row) for column in columns] for row in rows)])


def set_flags(row: FlagsJson) -> list[str]:
    """The flags that a row or an entry has, in the words of its page."""
    held = [format.HELD_TAG] if "held_by" in row else []
    return [*(name for name in ("baseline", "host", "anonymous", "verified") if name in row), *held]


def task_table(board: TaskStandings, rows: Sequence[RowJson], reproduced: Collection[str] = ()) -> TableJson:
    """The table of a task; `reproduced` are the keys of results whose replay gave the same returns."""
    task, columns = board.task, task_columns(board.task)
    metrics = metrics_of(task)
    best = board.best
    table = _table(task, columns, rows, [picked(MetricJson, metric) for metric in metrics])
    flags_at = [column.name for column in columns].index("flags")
    for cells, row in zip(table["rows"], board.rows, strict=True):
        if row.result.key in reproduced:
            cells[flags_at].append("reproduced")
    return {
        **table,
        "failures": _cells(columns, _unranked(board)),
        "decimals": metrics[0].decimals,
        "direction": metrics[0].direction,
        "leader": None if best is None else next(index for index, row in enumerate(board.rows) if row is best),
    }


def game_table(game: GameStandings, rows: Sequence[GameRowJson]) -> TableJson:
    """A game's table: the rating is the score."""
    leader = next((index for index, row in enumerate(game.rows) if not row.is_aside), 0) if game.rows else None
    return {
        **_table(game.task, _GAME_COLUMNS, rows, [_rating_metric(game.task)]),
        "failures": _cells(_GAME_COLUMNS, _unranked_players(game)),
        "leader": leader,
    }


def _table(task: Task, columns: Sequence[Column], rows: Sequence[AnyRow], metrics: list[MetricJson]) -> TableJson:
    return {
        "task": task.id,
        "columns": [column.name for column in columns],
        "heads": [{"label": column.label, "title": column.title, "kind": column.kind} for column in columns],
        "rows": [[column.value(row) for column in columns] for row in rows],
        "failures": [],
        "decimals": 0,
        "direction": Direction.HIGHER,
        "metrics": metrics,
        "leader": None,
    }


def _cells(columns: Sequence[Column], entries: Iterator[dict[str, Any]]) -> list[list[Any]]:
    return [[entry.get(column.name) for column in columns] for entry in entries]


def failure_reason(result: Result) -> str:
    """Why there is no score."""
    return result.message or result.verdict.plain_words


def _rating_metric(task: Task) -> MetricJson:
    return {
        "name": "Rating", "kind": "rating", "direction": Direction.HIGHER, "decimals": 0, "threshold": None,
        "description": f"Strength in {task.title or task.id} on the Elo scale",
    }  # fmt: skip


def _unranked(board: TaskStandings) -> Iterator[dict[str, Any]]:
    """Entries without a place: failed, self-reported, waiting, excluded, withdrawn, each with the reason."""
    for failure in board.failures:
        result = failure.result
        claim = [] if failure.claimed is None else ["self-reported"]
        yield {
            **_entry(failure.entry), **_measured(result), "verdict": result.verdict, "message": failure_reason(result),
            "flags": [*set_flags(flags(failure.entry)), *claim], "score": serialise.finite(failure.claimed),
            "attempts": failure.attempts,
        }  # fmt: skip
    for entry in board.waiting:
        yield _waiting(entry, board.task)
    for excluded in board.excluded:
        yield _excluded(excluded)
    for withdrawn in board.withdrawn:
        yield _withdrawn(withdrawn)


def _unranked_players(game: GameStandings) -> Iterator[dict[str, Any]]:
    for failure in game.failures:
        yield {
            **_entry(failure.entry), "verdict": "refused", "message": failure.reason,
            "flags": set_flags(flags(failure.entry)),
            "evaluated_at": format.day(failure.duel.provenance.evaluated_at), "attempts": failure.attempts,
        }  # fmt: skip
    for entry in game.waiting:
        yield _waiting(entry, game.task)
    for excluded in game.excluded:
        yield _excluded(excluded)


def _entry(entry: Entry) -> dict[str, Any]:
    manifest = entry.submission
    return {
        "login": entry.login, "agent": entry.agent, "name": manifest.name, "algorithm": manifest.algorithm,
        "authors": ", ".join(manifest.authors), "kind": manifest.kind,
    }  # fmt: skip


def _measured(result: Result) -> dict[str, Any]:
    cost = {"cpu_seconds": result.cost.cpu_seconds, "peak_memory_bytes": result.cost.peak_memory_bytes}
    return {**cost, "evaluated_at": format.day(result.provenance.evaluated_at), "sandbox": result.sandbox}


def _waiting(entry: Entry, task: Task) -> dict[str, Any]:
    words = entry.waits_for(task.id)
    message = f"{words[0].upper()}{words[1:]}." if words else "Entered, and not evaluated yet."
    return {
        **_entry(entry), "verdict": "waiting", "message": message,
        "flags": set_flags(flags(entry)),
    }  # fmt: skip


def _excluded(excluded: Excluded) -> dict[str, Any]:
    return {
        "login": excluded.login, "agent": excluded.agent, "name": excluded.agent, "verdict": "excluded",
        "message": excluded.exclusion.why, "flags": ["excluded"], "evaluated_at": excluded.exclusion.since,
    }  # fmt: skip


def _withdrawn(withdrawn: WithdrawnScore) -> dict[str, Any]:
    return {
        "login": withdrawn.login, "agent": withdrawn.agent, "name": withdrawn.agent, **_measured(withdrawn.result),
        "verdict": "withdrawn", "message": "Its folder is on main no more.", "flags": ["withdrawn"],
        "score": withdrawn.score,
    }  # fmt: skip
