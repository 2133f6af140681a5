"""The rows of a task's board, column by column, and each row as text: a large board has far too many for objects.

A number is written once, and every document takes its text from there. What is said of an entry is written once for all
boards.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from evaluator.model.config.challenge import Task
from leaderboard.api.standings_json import who
from leaderboard.core.entry import Entry
from leaderboard.core.standings import Row, TaskStandings
from leaderboard.scoring.metrics import metrics_of
from leaderboard.text import serialise

# A further metric's column: it may be called like another column.
METRIC = "metric:"
_MEDALS = {1: "gold", 2: "silver", 3: "bronze"}
# As JSON.
_WON = {None: "null"} | {won: serialise.json_text(won) for won in _MEDALS.values()}
_PLACE = ("place", "rank_low", "rank_high", "with_leader")
_ESTIMATE = ("score", "low", "high")
_RUN = ("attempts", "episodes", "key", "evaluated_at")
_COST = ("cpu_seconds", "wall_seconds", "peak_memory_bytes", "steps")

Columns = Mapping[str, Sequence[str]]
"""By name, the value of each row as JSON."""


def entry_flags(entry: Entry) -> list[str]:
    """What marks an entry, in words that its page has too."""
    found = {"baseline": entry.baseline, "host": entry.host, "anonymous": entry.anonymous, "verified": bool(entry.verified)}
    return [name for name, is_set in found.items() if is_set]


def medal_of(entry: Entry, place: int) -> str | None:
    """For the first three places, whatever the sign of the score; who has no place of its own has none."""
    return None if entry.is_aside else _MEDALS.get(place)


def row_columns(task: Task, rows: Sequence[Row]) -> Columns:
    """Everything that was measured of some rows of a task's board."""
    counted = task.counted
    results, estimates = [row.result for row in rows], [row.estimate for row in rows]
    costs = [result.cost for result in results]
    further = [metric.name for metric in metrics_of(task)[1:]]
    values = zip(*(row.others for row in rows), strict=True) if rows else [()] * len(further)
    return {
        "place": serialise.json_scalars([None if row.entry.is_aside else row.place for row in rows]),
        "rank_low": serialise.json_scalars([row.rank_low for row in rows]),
        "rank_high": serialise.json_scalars([row.rank_high for row in rows]),
        "with_leader": serialise.json_scalars([row.with_leader for row in rows]),
        "score": serialise.json_scalars([one.score for one in estimates]),
        "low": serialise.json_scalars([one.low for one in estimates]),
        "high": serialise.json_scalars([one.high for one in estimates]),
        **{f"{METRIC}{name}": serialise.json_scalars(own) for name, own in zip(further, values, strict=True)},
        "attempts": serialise.json_scalars([row.attempts for row in rows]),
        "episodes": serialise.json_scalars([counted if result.sealed else len(result.returns) for result in results]),
        # A result's file is found by its key, and its path says whose it is.
        "key": ["null" if row.entry.anonymous else serialise.json_text(row.result.key) for row in rows],
        "evaluated_at": [serialise.json_text(result.provenance.evaluated_at) for result in results],
        "cpu_seconds": serialise.json_scalars([cost.cpu_seconds for cost in costs]),
        "wall_seconds": serialise.json_scalars([cost.wall_seconds for cost in costs]),
        "peak_memory_bytes": serialise.json_scalars([cost.peak_memory_bytes for cost in costs]),
        "steps": serialise.json_scalars([cost.steps for cost in costs]),
        "medal": [_WON[_medal(row)] for row in rows],
    }


def _medal(row: Row) -> str | None:
    return None if row.estimate.is_missing else medal_of(row.entry, row.place)


def row_lines(task: Task, rows: Sequence[Row]) -> list[str]:
    """All that rows say of themselves, each as members of a JSON object."""
    found = row_columns(task, rows)
    return [f"{place},{own}" for place, own in zip(places(found), measured(task, found), strict=True)]


def places(found: Columns) -> list[str]:
    """Where each row stands, as members of a JSON object."""
    return _lines(_members(_PLACE), found, _PLACE)


def measured(task: Task, found: Columns) -> list[str]:
    """What was measured for each row, as members of a JSON object."""
    names = [metric.name for metric in metrics_of(task)]
    values = ("score", *(f"{METRIC}{name}" for name in names[1:]))
    template = (
        f'"estimate":{{{_members(_ESTIMATE)}}},"metrics":{{{_members(names)}}},{_members(_RUN)},'
        f'"cost":{{{_members(_COST)}}},"medal":%s'
    )
    return _lines(template, found, (*_ESTIMATE, *values, *_RUN, *_COST, "medal"))


def _members(names: Iterable[str]) -> str:
    """A template for members of these names; a host's own may hold what a template takes for a place."""
    return ",".join(serialise.json_text(name).replace("%", "%%") + ":%s" for name in names)


def _lines(template: str, found: Columns, names: Iterable[str]) -> list[str]:
    return [template % cells for cells in zip(*(found[name] for name in names), strict=True)]


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryFragments:
    """What documents say of an entry, on every board the same."""

    entry: Entry
    """Who."""
    who: str
    """By which it is told, as members of a JSON object."""
    about: str
    """How it was made, likewise."""
    where: str
    """Its page and its document, likewise."""
    names: str
    """Its columns in a table, as items of a JSON list."""
    kind: str
    """As JSON."""
    cells: str
    """Its first columns in a CSV file."""
    page: str
    """One cell."""
    flags: tuple[str, ...]
    """What marks it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowCache:
    """All rows of a board, ready to be put together."""

    columns: Columns
    """What was measured."""
    said: Sequence[EntryFragments]
    """What each row says of its entry."""


class EntryCache:
    """What is said of entries: each is written when it is first met."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], EntryFragments] = {}

    def sheet(self, board: TaskStandings) -> RowCache:
        """The rows of a board."""
        return RowCache(columns=row_columns(board.task, board.rows), said=[self._of(row.entry) for row in board.rows])

    def _of(self, entry: Entry) -> EntryFragments:
        found = self._said.get((entry.login, entry.agent))
        if found is None or found.entry is not entry:
            found = self._said[entry.login, entry.agent] = _said(entry)
        return found


def _said(entry: Entry) -> EntryFragments:
    manifest = entry.submission
    kind, page = manifest.kind.value, serialise.agent_address(entry.login, entry.agent)
    about = {"algorithm": manifest.algorithm, "authors": list(manifest.authors), "kind": kind}
    where = {"page": page, "api": serialise.address(serialise.agent_file(entry.login, entry.agent))}
    names = (entry.login, entry.agent, manifest.name, manifest.algorithm)
    return EntryFragments(
        entry=entry, who=serialise.json_text(who(entry))[1:-1], about=serialise.json_text(about)[1:-1],
        where=serialise.json_text(where)[1:-1],
        names=serialise.json_text([*names, ", ".join(manifest.authors)])[1:-1], kind=serialise.json_text(kind),
        cells=",".join(map(serialise.csv_cell, (*names, "; ".join(manifest.authors), kind))), page=serialise.csv_cell(page),
        flags=tuple(entry_flags(entry)),
    )  # fmt: skip


@lru_cache(maxsize=64)
def flag_words(found: tuple[str, ...]) -> str:
    """Flags as a JSON list: there are but a few combinations."""
    return serialise.json_text(found)
