"""What happened when: the best score over time, places over time, and the newest entries with the place they took.

Everything is told from the dates of results. At any moment an agent stands with what was measured last, as on the board;
what failed on our side says nothing. Places are those among the agents that are on the board now, so that they end where
the board is.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evaluator.model.challenge import Task
from evaluator.model.result import Result
from evaluator.model.verdict import Verdict
from leaderboard.estimate import values
from leaderboard.field import Name, is_official
from leaderboard.game_standings import GameBoard, Moment
from leaderboard.metrics import by_value, known, others, ranking
from leaderboard.rank import Key
from leaderboard.standings import Entry, Row, Standings, TaskBoard

# More lines than that have no colours to tell them apart.
SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class Best:
    """A score that was better than everything before it."""

    login: str
    """Whose."""
    agent: str
    """Its folder."""
    at: str
    """When it was measured, in UTC."""
    score: float
    """In the unit of the metric that ranks."""


@dataclass(frozen=True, kw_only=True)
class Track:
    """The places of one entry."""

    entry: Entry
    """Who."""
    places: tuple[tuple[str, int | None], ...]
    """Since when, in UTC, which place; None while it had no score."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """A version of an entry got a score, and with it a place."""

    entry: Entry
    """Who."""
    task: Task
    """On which task, or in which game."""
    at: str
    """When, in UTC."""
    score: float
    """What it got: the metric that ranks, or the rating."""
    place: int
    """Where that put it among those that are on the board now."""
    place_before: int | None
    """Where it stood before; None if it had no score."""


@dataclass(frozen=True, kw_only=True)
class _Told:
    """One result as history sees it."""

    name: Name
    result: Result
    score: float | None
    """None where it failed, or has no value."""
    key: Key | None
    """The better one is the smaller; None where it failed."""

    @property
    def at(self) -> str:
        return self.result.provenance.evaluated_at


def progress(board: TaskBoard, results: Iterable[Result], *, season: str, official: bool) -> tuple[Best, ...]:
    """Each score that was the best when it was measured, oldest first: of all versions, and of agents that were withdrawn.

    Who is excluded, or listed only for comparison, sets no record.

    Args:
        board: the board of the task.
        results: everything recorded.
        season: results of another one do not count.
        official: whether only official results count.
    """
    left = {(one.login.casefold(), one.agent) for one in board.withdrawn}
    found: list[Best] = []
    least: Key | None = None
    for one in _told(board.task, _counting(board.task, results, _here(board) | left, season, official=official)):
        if one.key is None or one.score is None or (least is not None and least <= one.key[:1]):
            continue
        least = one.key[:1]
        found.append(Best(login=one.result.login, agent=one.result.agent, at=one.at, score=one.score))
    return tuple(found)


def standing(board: TaskBoard, results: Iterable[Result], *, season: str, official: bool) -> tuple[Track, ...]:
    """The places over time of the first entries of a board; they end where the board is.

    Args:
        board: the board of the task.
        results: everything recorded.
        season: results of another one do not count.
        official: whether only official results count.
    """
    rows = _placed(board.rows)[:SHOWN]
    counting = _counting(board.task, results, _here(board), season, official=official)
    changes: dict[Name, list[tuple[str, int | None]]] = {row.entry.name: [] for row in rows}
    last = ""
    for one, _, place_of in _replayed(_told(board.task, counting)):
        last = one.at
        for name, own in changes.items():
            place = place_of(name)
            if (own[-1][1] if own else None) != place:
                own.append((one.at, place))
    # The version that stands on main is not always the one that was measured last.
    for row in rows if last else ():
        own = changes[row.entry.name]
        if not own or own[-1][1] != row.place:
            own.append((last, row.place))
    return tuple(Track(entry=row.entry, places=tuple(changes[row.entry.name])) for row in rows)


def events(standings: Standings, results: Iterable[Result], limit: int) -> tuple[Event, ...]:
    """The newest entries and changes of all boards, newest first: of those that are on a board now.

    Args:
        standings: all boards.
        results: everything recorded.
        limit: how many at most.
    """
    results = tuple(results)
    season, official = standings.challenge.season, standings.official
    found: list[Event] = []
    for board in standings.tasks:
        found += _newest(_task_events(board, results, season, official=official), limit)
    for game in standings.games:
        found += _newest(_game_events(game), limit)
    return tuple(_newest(found, limit))


def _newest(found: Iterable[Event], limit: int) -> list[Event]:
    return sorted(found, key=lambda event: (event.at, event.task.id, event.entry.name), reverse=True)[:limit]


def _task_events(board: TaskBoard, results: Iterable[Result], season: str, *, official: bool) -> Iterator[Event]:
    entries = {row.entry.name: row.entry for row in board.rows}
    told = _told(board.task, _counting(board.task, results, _here(board), season, official=official))
    for one, before, place_of in _replayed(told):
        place = place_of(one.name)
        if one.score is not None and place is not None and one.name in entries:
            yield Event(
                entry=entries[one.name], task=board.task, at=one.at, score=one.score, place=place, place_before=before
            )


def _game_events(board: GameBoard) -> Iterator[Event]:
    """Who was rated for the first time on which day; the day's order is that of its ratings."""
    rows = {row.entry.name: row for row in board.rows if not row.entry.is_aside}
    empty = Moment(day="", elo={})
    for before, after in pairwise((empty, *board.history)):
        order = sorted(-elo for name, elo in after.elo.items() if name in rows)
        for name in sorted(after.elo.keys() - before.elo.keys()):
            if row := rows.get(name):
                place = 1 + bisect_left(order, -after.elo[name])
                at = row.since if row.since[:10] == after.day else f"{after.day}T00:00:00Z"
                yield Event(entry=row.entry, task=board.task, at=at, score=after.elo[name], place=place, place_before=None)


def _placed(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if not row.entry.is_aside and not row.estimate.is_missing]


def _here(board: TaskBoard) -> set[Name]:
    """Whoever takes a place on the board now, or would with a score."""
    entries = (*(row.entry for row in board.rows), *(one.entry for one in board.failures), *board.waiting)
    return {entry.name for entry in entries if not entry.is_aside}


def _counting(
    task: Task, results: Iterable[Result], names: set[Name], season: str, *, official: bool
) -> list[tuple[Name, Result]]:
    """What says something of these agents on this task, oldest first."""
    digest = task.digest()
    found = [
        ((result.login.casefold(), result.agent), result)
        for result in results
        if result.task == task.id
        and result.task_digest == digest
        and result.season == season
        and result.verdict is not Verdict.INTERNAL_ERROR
        and (is_official(result) or not official)
    ]
    return sorted((one for one in found if one[0] in names), key=_moment)


def _moment(one: tuple[Name, Result]) -> tuple[str, str, str]:
    return one[1].provenance.evaluated_at, one[1].key, one[1].self_sha256


def _told(task: Task, counting: Sequence[tuple[Name, Result]]) -> list[_Told]:
    """What each result says, in one go for all of them."""
    by_name = {metric.name: metric for metric in others(task)}
    metrics = [ranking(task), *(by_name[name] for name in task.ties)]
    scored = [result for _, result in counting if result.verdict is Verdict.OK]
    columns = [values(scored, task, metric) for metric in metrics] if scored else [[]]
    keys = iter([(by_value(zip(metrics, row, strict=True)), known(row[0])) for row in zip(*columns, strict=True)])
    told = []
    for name, result in counting:
        key, score = next(keys) if result.verdict is Verdict.OK else (None, None)
        told.append(_Told(name=name, result=result, score=score, key=key))
    return told


def _replayed(told: Iterable[_Told]) -> Iterator[tuple[_Told, int | None, Callable[[Name], int | None]]]:
    """Result after result: the place its agent had before, and who has which place with it."""
    stands: dict[Name, Key] = {}
    ordered: list[Key] = []

    def place_of(name: Name) -> int | None:
        key = stands.get(name)
        return None if key is None else 1 + bisect_left(ordered, key)

    for one in told:
        before = place_of(one.name)
        if (old := stands.pop(one.name, None)) is not None:
            del ordered[bisect_left(ordered, old)]
        if one.key is not None:
            stands[one.name] = one.key
            insort(ordered, one.key)
        yield one, before, place_of
