"""The columns of a task's and a game's table and of their CSV, and the values that the page's script sorts and filters.

A column is defined here once. The page loops over the columns for its head and rows, `table.json` carries them for the
script, and both have one way of drawing for each kind of cell: `cells.md.jinja` and `table-cells.js`.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from evaluator.model.config.metric import Direction
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.api.entry_json import ClosedObject, FlagsJson, flags, json_fields, next_document
from leaderboard.api.game_leaderboards import GameRowJson, game_row
from leaderboard.api.task_leaderboards import MetricJson, RowJson, task_row
from leaderboard.core.entry import INTERVAL_NAME, Entry, Excluded
from leaderboard.core.game_standings import DRAW_POINTS, WIN_POINTS, GameRow, GameStandings
from leaderboard.core.standings import TaskRow, TaskStandings, WithdrawnScore
from leaderboard.scoring.metrics import metrics_of
from leaderboard.text import format, serialise

CellKind = Literal[
    "place", "agent", "owner", "score", "interval", "metric", "number", "seconds", "bytes", "date", "text", "clamped",
    "reason", "verdict",
]  # fmt: skip
"""How a cell is drawn; `clamped` is a text that is cut after two lines."""
Values = dict[str, Any]
"""A row's values by field."""
TABLE_ROWS = 100
"""Rows that stand in the page itself; its script fetches the others on demand."""
_REPRODUCED = ("reproduced", "measured again officially, on the same seeds: the same returns to the last bit")
_AT_THE_RIGHT = ("score", "metric", "number", "seconds", "bytes")


class ColumnJson(ClosedObject):
    """One column of a table."""

    id: Annotated[str, Field(description="its name in addresses")]
    label: str
    title: Annotated[str, Field(description="what it is, in a few words")]
    kind: CellKind
    shown: Annotated[
        Literal["always", "with failures", "on request"],
        Field(description="on the page, beside the agent where entries without a place are listed, or offered by its menu"),
    ]
    direction: Annotated[Direction | None, Field(description="which values are better, where that is said")]
    decimals: int
    fields: Annotated[list[str], Field(description="what it is drawn from and saved as, of `columns`; its value first")]
    right: Annotated[bool, Field(description="whether its head stands at the right")]


class TableJson(ClosedObject):
    """Values in the order of `columns`, their names; for the failures too. `heads` are the columns that readers see."""

    task: str
    columns: list[str]
    heads: list[ColumnJson]
    rows: list[list[Any]]
    failures: list[list[Any]]
    decimals: int
    direction: Direction
    metrics: list[MetricJson]
    leader: int | None


def _column(name: str, label: str, kind: CellKind = "number", title: str = "", **more: Any) -> ColumnJson:
    plain = {
        "id": name,
        "label": label,
        "title": title,
        "kind": kind,
        "shown": "on request",
        "direction": None,
        "decimals": 0,
    }
    return cast("ColumnJson", {**plain, "fields": [name], "right": kind in _AT_THE_RIGHT, **more})


def _first_columns(who: str, measure: str, when: str, decimals: int, direction: Direction | None) -> tuple[ColumnJson, ...]:
    """What the page shows without being asked."""
    return (
        _column("place", "Place", "place", format.RANK_INTERVAL, shown="always", fields=["place", "rank_low", "rank_high"]),
        _column("agent", who, "agent", shown="always", fields=["login", "agent", "name", "flags"]),
        _column("score", measure, "score", shown="always", decimals=decimals, direction=direction),
        _column("interval", INTERVAL_NAME, "interval", shown="always", decimals=decimals, fields=["low", "high"]),
        _column("algorithm", "Algorithm", "clamped", shown="always"),
        _column("evaluated_at", when, "date", shown="always"),
    )


_LOGIN = _column("login", "Author", "owner", "the account that submitted it")
_ATTEMPTS = _column("attempts", "Versions", title="versions of its owner, or team, that were evaluated")
_WHY = (
    _column("verdict", "Verdict", "verdict", "how the evaluation ended", shown="with failures"),
    _column("message", "Why", "reason", "the reason where there is no score or no place", shown="with failures"),
)
_RESULTS = (
    _column("wins", "Won"), _column("draws", "Drawn"), _column("losses", "Lost"),
    _column("errors", "Errors", title="matches lost by breaking a rule or by an error"),
    _column("points", "Points", title=f"{WIN_POINTS} for a win, {DRAW_POINTS} for a draw"),
    _column("opponents", "Met", title="opponents met"),
)  # fmt: skip
_COSTS = (
    _column("cpu_seconds", "CPU", "seconds", "processor seconds of the agent in all episodes"),
    _column("peak_memory_bytes", "Memory", "bytes", "the agent's largest memory"),
)
_PLACE_FIELDS = ("place", "rank_low", "rank_high", "with_leader", "tries")
_WHO_FIELDS = ("login", "agent", "name", "algorithm", "authors")
_SCORE_FIELDS = ("score", "low", "high")
_COUNT_FIELDS = ("wins", "draws", "losses", "errors", "points", "opponents")
# Both kinds of tables end with these; a field that a game does not have is null.
_LAST_FIELDS = (
    "episodes", "attempts", "cpu_seconds", "peak_memory_bytes", "kind", "sandbox", "evaluated_at", "flags", "verdict",
    "message", "is_tied", "tags", "marks",
)  # fmt: skip

_CSV_FIRST = (*_PLACE_FIELDS, *_WHO_FIELDS, "kind", *_SCORE_FIELDS)
_CSV_LAST = (
    "attempts", "episodes", "key", "evaluated_at", "medal", "since", "page", "cpu_seconds", "wall_seconds",
    "peak_memory_bytes", "steps", "flags", "sandbox",
)  # fmt: skip
_GAME_CSV = (
    *_CSV_FIRST, "wins", "draws", "losses", "errors", "returns", "points", "points_place", "opponents", "attempts", "since",
    "evaluated_at", "episodes", "medal", "page", "flags",
)  # fmt: skip


def task_columns(task: Task) -> tuple[ColumnJson, ...]:
    """The columns of a task's table; a further metric is named by its number, since a host names it as he likes."""
    ranking, *further = metrics_of(task)
    return (
        *_first_columns("Agent", ranking.name, "Date", ranking.decimals, ranking.direction),
        _LOGIN,
        *(
            _column(
                f"metric:{number}", metric.name, "metric", metric.description, direction=metric.direction,
                decimals=metric.decimals, fields=[_metric_field(metric.name)],
            )
            for number, metric in enumerate(further, start=1)
        ),
        _column("episodes", "Episodes", title="that count"), _ATTEMPTS, *_COSTS,
        _column("kind", "Kind", "text", "policy, script or image"),
        _column("sandbox", "Sandbox", "text", "what held the agent: docker or gvisor"),
        *_WHY,
    )  # fmt: skip


def game_columns() -> tuple[ColumnJson, ...]:
    """The columns of a game's table: the rating is the score."""
    return (*_first_columns("Player", "Rating", "Since", 0, None), _LOGIN, *_RESULTS, _ATTEMPTS, *_WHY)


def _metric_field(name: str) -> str:
    # With a prefix, since a host may call a metric like another field.
    return f"metric:{name}"


def _further_metrics(task: Task) -> list[str]:
    return [_metric_field(metric.name) for metric in metrics_of(task)[1:]]


def task_csv(task: Task, rows: Sequence[RowJson]) -> bytes:
    """A task's leaderboard, one line for each row."""
    return _csv((*_CSV_FIRST, *_further_metrics(task), *_CSV_LAST), map(_measured_values, rows))


def game_csv(rows: Sequence[GameRowJson]) -> bytes:
    """A game's leaderboard, one line for each row."""
    return _csv(_GAME_CSV, map(_rated_values, rows))


def _csv(names: Sequence[str], rows: Iterable[Values]) -> bytes:
    """Without rows, the head ends after the score's interval."""
    lines = [[_csv_values(row)[name] for name in names] for row in rows]
    return serialise.csv_text([names if lines else names[: names.index("high") + 1], *lines])


def _csv_values(row: Values) -> Values:
    return {**row, "authors": "; ".join(row["authors"]), "flags": " ".join(row["flags"])}


def flag_names(row: FlagsJson) -> list[str]:
    """The flags that a row or an entry has, in the words of its page."""
    superseded = [format.SUPERSEDED_TAG] if "held_by" in row else []
    return [*(name for name in ("baseline", "host", "anonymous", "verified") if name in row), *superseded]


def _measured_values(document: RowJson) -> Values:
    metrics = {_metric_field(name): value for name, value in document["metrics"].items()}
    return {**document, **document["estimate"], **document["cost"], **metrics, "flags": flag_names(document)}


def _rated_values(document: GameRowJson) -> Values:
    rating = document["rating"]
    return {
        **document, "score": rating["elo"], "low": rating["low"], "high": rating["high"], "flags": flag_names(document),
        # Beside the rating, a game's own score needs another name.
        "returns": document["score"],
    }  # fmt: skip


def task_lines(board: TaskStandings, reproduced: Collection[str]) -> list[tuple[TaskRow, Values]]:
    """The first rows of a task and their values, for its page."""
    # What is compared with the next row, and how long a version stands, are in no column.
    documents = (task_row(row, board.task, next_document([])) for row in board.rows[:TABLE_ROWS])
    return [(row, _task_values(row, made, reproduced)) for row, made in zip(board.rows, documents, strict=False)]


def game_lines(game: GameStandings) -> list[tuple[GameRow, Values]]:
    """The first rows of a game and their values, for its page."""
    return [(row, _ranked_values(row, _rated_values(game_row(row)))) for row in game.rows[:TABLE_ROWS]]


def _task_values(row: TaskRow, document: RowJson, reproduced: Collection[str]) -> Values:
    values = _ranked_values(row, _measured_values(document))
    if row.result.key in reproduced:
        values["flags"].append("reproduced")
        values["tags"].append(_REPRODUCED)
    return values


def _ranked_values(row: TaskRow | GameRow, values: Values) -> Values:
    return {
        **values, "authors": ", ".join(values["authors"]), "evaluated_at": format.day(values["evaluated_at"]),
        "verdict": Verdict.OK, "message": format.no_place_reason(row), "is_tied": format.is_tied(row),
        "tags": format.entry_tags(row.entry), "marks": format.row_marks(row),
    }  # fmt: skip


def task_table(board: TaskStandings, rows: Sequence[RowJson], reproduced: Collection[str] = ()) -> TableJson:
    """The table of a task; `reproduced` are the keys of results whose replay gave the same returns."""
    task, metrics, best = board.task, metrics_of(board.task), board.best
    fields = (*_PLACE_FIELDS, *_WHO_FIELDS, *_SCORE_FIELDS, *_further_metrics(task), *_LAST_FIELDS)
    return {
        "task": task.id,
        "columns": list(fields),
        "heads": list(task_columns(task)),
        "rows": _cells(fields, map(_task_values, board.rows, rows, itertools.repeat(reproduced))),
        "failures": _cells(fields, _unranked(board)),
        "decimals": metrics[0].decimals,
        "direction": metrics[0].direction,
        "metrics": [json_fields(MetricJson, metric) for metric in metrics],
        "leader": None if best is None else next(index for index, row in enumerate(board.rows) if row is best),
    }


def game_table(game: GameStandings, rows: Sequence[GameRowJson]) -> TableJson:
    """A game's table: the rating is the score."""
    fields = (*_PLACE_FIELDS, *_WHO_FIELDS, *_SCORE_FIELDS, *_COUNT_FIELDS, *_LAST_FIELDS)
    return {
        "task": game.task.id,
        "columns": list(fields),
        "heads": list(game_columns()),
        "rows": _cells(fields, map(_ranked_values, game.rows, map(_rated_values, rows))),
        "failures": _cells(fields, _unranked_players(game)),
        "decimals": 0,
        "direction": Direction.HIGHER,
        "metrics": [_rating_metric(game.task)],
        "leader": next((index for index, row in enumerate(game.rows) if not row.is_unranked), 0) if game.rows else None,
    }


def _cells(fields: Sequence[str], rows: Iterable[Values]) -> list[list[Any]]:
    return [[row.get(name) for name in fields] for row in rows]


def failure_reason(result: Result) -> str:
    """Why there is no score."""
    return result.message or result.verdict.plain_words


def _rating_metric(task: Task) -> MetricJson:
    return {
        "name": "Rating", "kind": "rating", "direction": Direction.HIGHER, "decimals": 0, "threshold": None,
        "description": f"Strength in {task.title or task.id} on the Elo scale",
    }  # fmt: skip


def _unranked(board: TaskStandings) -> Iterator[Values]:
    """Entries without a place: failed, self-reported, waiting, excluded, withdrawn, each with the reason."""
    for failure in board.failures:
        result = failure.result
        claim = [] if failure.claimed is None else ["self-reported"]
        yield {
            **_entry(failure.entry), **_measured(result), "verdict": result.verdict, "message": failure_reason(result),
            "score": serialise.finite(failure.claimed), "attempts": failure.versions_tried,
            **_flagged(failure.entry, *claim),
        }  # fmt: skip
    for entry in board.waiting:
        yield _waiting(entry, board.task)
    for excluded in board.excluded:
        yield _excluded(excluded)
    for withdrawn in board.withdrawn:
        yield _withdrawn(withdrawn)


def _unranked_players(game: GameStandings) -> Iterator[Values]:
    for failure in game.failures:
        yield {
            **_entry(failure.entry), **_flagged(failure.entry), "verdict": "refused", "message": failure.reason,
            "evaluated_at": format.day(failure.duel.provenance.evaluated_at), "attempts": failure.versions_tried,
        }  # fmt: skip
    for entry in game.waiting:
        yield _waiting(entry, game.task)
    for excluded in game.excluded:
        yield _excluded(excluded)


def _entry(entry: Entry) -> Values:
    manifest = entry.submission
    return {
        "login": entry.login, "agent": entry.agent, "name": manifest.name, "algorithm": manifest.algorithm,
        "authors": ", ".join(manifest.authors), "kind": manifest.kind,
    }  # fmt: skip


def _flagged(entry: Entry, *more: str) -> Values:
    return {
        "flags": [*flag_names(flags(entry)), *more],
        "tags": [*format.entry_tags(entry), *((words, "") for words in more)],
    }


def _measured(result: Result) -> Values:
    cost = {"cpu_seconds": result.cost.cpu_seconds, "peak_memory_bytes": result.cost.peak_memory_bytes}
    return {**cost, "evaluated_at": format.day(result.provenance.evaluated_at), "sandbox": result.sandbox}


def _waiting(entry: Entry, task: Task) -> Values:
    words = entry.waits_for(task.id)
    message = f"{words[0].upper()}{words[1:]}." if words else "Entered, and not evaluated yet."
    return {**_entry(entry), **_flagged(entry), "verdict": "waiting", "message": message}


def _excluded(excluded: Excluded) -> Values:
    return {
        "login": excluded.login, "agent": excluded.agent, "name": excluded.agent, "verdict": "excluded",
        "message": excluded.exclusion.why, "flags": ["excluded"], "tags": [("excluded", "")],
        "evaluated_at": excluded.exclusion.since,
    }  # fmt: skip


def _withdrawn(withdrawn: WithdrawnScore) -> Values:
    return {
        "login": withdrawn.login, "agent": withdrawn.agent, "name": withdrawn.agent, **_measured(withdrawn.result),
        "verdict": "withdrawn", "message": "Its folder is on main no more.", "flags": ["withdrawn"],
        "tags": [("withdrawn", "")], "score": withdrawn.score,
    }  # fmt: skip
