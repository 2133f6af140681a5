"""What happened when: the best score over time, places over time, and the newest entries with the place they took.

Everything is told from the dates of results. At any moment an agent stands with what was measured last, as on the board;
what failed on our side says nothing. Places are those among the agents that are on the board now, so that they end where
the board is.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import NamedTuple, TypeVar

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import AgentName
from leaderboard.core.game_standings import GameStandings, RatingSnapshot
from leaderboard.core.standings import Entry, Row, Standings, TaskStandings, entries_of
from leaderboard.core.versions import VersionFolders, version_folders_of
from leaderboard.scoring.intervals import values
from leaderboard.scoring.metrics import by_value, known_metrics, other_metrics, ranking
from leaderboard.scoring.ranking import Key

Value = TypeVar("Value")
# More lines than that have no colours to tell them apart.
SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class RecordScore:
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
class RankHistory:
    """The places of one entry."""

    entry: Entry
    """Who."""
    places: tuple[tuple[str, int | None], ...]
    """Since when, in UTC, which place; None while it had no score."""


@dataclass(frozen=True, kw_only=True)
class BoardEvent:
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
class _ScoredVersion:
    """One result as history sees it."""

    name: AgentName
    result: Result
    score: float | None
    """None where it failed, or has no value."""
    key: Key | None
    """The better one is the smaller; None where it failed."""

    @property
    def at(self) -> str:
        return self.result.provenance.evaluated_at


class _HistoryStep(NamedTuple):
    """What a result changed on its board."""

    told: _ScoredVersion
    """Which result."""
    old: Key | None
    """What its agent stood there with before; None if nothing."""
    before: int | None
    """The agent's place before."""
    place: int | None
    """And after."""


class BoardHistory:
    """The history of all boards; what each tells is worked out once, when it is first asked for."""

    def __init__(self, standings: Standings, results: Sequence[Result]) -> None:
        """Of these boards, from everything recorded: of this season, and official where only that counts."""
        self._standings, self._recorded = standings, results
        self._told: dict[str, list[_ScoredVersion]] = {}
        self._changes: dict[str, list[_HistoryStep]] = {}

    @cached_property
    def _homes(self) -> VersionFolders:
        """A folder that was renamed has the history of its version."""
        return version_folders_of(self._standings)

    @cached_property
    def _results(self) -> dict[str, list[Result]]:
        """By task: not every page asks for it."""
        found: dict[str, list[Result]] = {}
        for result in self._recorded:
            if result.season == self._standings.challenge.season and (is_official(result) or not self._standings.official):
                found.setdefault(result.task, []).append(result)
        return found

    def progress(self, board: TaskStandings) -> tuple[RecordScore, ...]:
        """Each score that was the best when it was measured, oldest first: of all versions, and of who was withdrawn.

        Who is excluded, or listed only for comparison, sets no record.
        """
        found: list[RecordScore] = []
        least: Key | None = None
        for one in self._of(board):
            if one.key is None or one.score is None or (least is not None and least <= one.key[:1]):
                continue
            least = one.key[:1]
            found.append(RecordScore(login=one.result.login, agent=one.result.agent, at=one.at, score=one.score))
        return tuple(found)

    def standing(self, board: TaskStandings) -> tuple[RankHistory, ...]:
        """The places over time of the first entries of a board; they end where the board is."""
        rows = _placed(board.rows)[:SHOWN]
        changes: dict[AgentName, list[tuple[str, int | None]]] = {row.entry.name: [] for row in rows}
        places: dict[AgentName, int] = {}
        keys: dict[AgentName, Key] = {}
        last = ""
        for step in self._steps(board):
            last, name = step.told.at, step.told.name
            if name not in changes and _begins(step) > max(places.values(), default=0):
                continue
            for other, key in keys.items():
                places[other] += _is_below(step.told.key, key) - _is_below(step.old, key)
            if name in changes:
                _put(keys, name, step.told.key)
                _put(places, name, step.place)
            for other, own in changes.items():
                place = places.get(other)
                if (own[-1][1] if own else None) != place:
                    own.append((last, place))
        # The version that stands on main is not always the one that was measured last.
        for row in rows if last else ():
            own = changes[row.entry.name]
            if not own or own[-1][1] != row.place:
                own.append((last, row.place))
        return tuple(RankHistory(entry=row.entry, places=tuple(changes[row.entry.name])) for row in rows)

    def events(self, limit: int) -> tuple[BoardEvent, ...]:
        """The newest entries and changes of all boards, newest first, so many at most: of those on a board now."""
        found = [event for board in self._standings.tasks for event in self.events_of(board, limit)]
        found += [event for game in self._standings.games for event in game_events(game, limit)]
        return tuple(_newest(found, limit))

    def events_of(self, board: TaskStandings, limit: int) -> tuple[BoardEvent, ...]:
        """The same of one task."""
        return tuple(_newest(_task_events(board, self._steps(board), limit), limit))

    def _steps(self, board: TaskStandings) -> list[_HistoryStep]:
        """What each result of those on the board changed, oldest first."""
        if board.task.id not in self._changes:
            here = _here(board)
            self._changes[board.task.id] = list(_replayed(one for one in self._of(board) if one.name in here))
        return self._changes[board.task.id]

    def _of(self, board: TaskStandings) -> list[_ScoredVersion]:
        """What is told of those who are on the board or left it."""
        if board.task.id not in self._told:
            names = _here(board) | {AgentName.folded(one.login, one.agent) for one in board.withdrawn}
            results = self._results.get(board.task.id, ())
            counting = _counting(board.task, ((self._homes.of(one), one) for one in results), names)
            self._told[board.task.id] = _all_told(board, counting)
        return self._told[board.task.id]


def game_events(board: GameStandings, limit: int) -> tuple[BoardEvent, ...]:
    """The newest players of a game, newest first, so many at most."""
    return tuple(_newest(_first_ratings(board), limit))


def _newest(found: Iterable[BoardEvent], limit: int) -> list[BoardEvent]:
    return sorted(found, key=lambda event: (event.at, event.task.id, event.entry.name), reverse=True)[:limit]


def _task_events(board: TaskStandings, steps: Sequence[_HistoryStep], limit: int) -> Iterator[BoardEvent]:
    """The newest first: so many, and those of the same second."""
    entries = {row.entry.name: row.entry for row in board.rows}
    count, least = 0, ""
    for told, _, before, place in reversed(steps):
        if count >= limit and told.at < least:
            return
        if told.score is not None and place is not None and (entry := entries.get(told.name)):
            yield BoardEvent(entry=entry, task=board.task, at=told.at, score=told.score, place=place, place_before=before)
            count, least = count + 1, told.at


def _first_ratings(board: GameStandings) -> Iterator[BoardEvent]:
    """Who was rated for the first time on which day; the day's order is that of its ratings."""
    rows = {row.entry.name: row for row in board.rows if not row.entry.is_aside}
    empty = RatingSnapshot(day="", elo={})
    for before, after in pairwise((empty, *board.history)):
        order = sorted(-elo for name, elo in after.elo.items() if name in rows)
        for name in sorted(after.elo.keys() - before.elo.keys()):
            if row := rows.get(name):
                place = 1 + bisect_left(order, -after.elo[name])
                at = row.since if row.since[:10] == after.day else f"{after.day}T00:00:00Z"
                yield BoardEvent(
                    entry=row.entry, task=board.task, at=at, score=after.elo[name], place=place, place_before=None
                )


def _placed(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if not row.entry.is_aside and not row.estimate.is_missing]


def _here(board: TaskStandings) -> set[AgentName]:
    """Whoever takes a place on the board now, or would with a score."""
    return {entry.name for entry in entries_of(board) if not entry.is_aside}


def _counting(
    task: Task, results: Iterable[tuple[AgentName, Result]], names: set[AgentName]
) -> list[tuple[AgentName, Result]]:
    """What says something of these agents on this task, oldest first."""
    digest = task.digest()
    found = [
        (name, result)
        for name, result in results
        if name in names and result.task_digest == digest and result.verdict is not Verdict.INTERNAL_ERROR
    ]
    return sorted(found, key=_moment)


def _moment(one: tuple[AgentName, Result]) -> tuple[str, str, str]:
    return one[1].provenance.evaluated_at, one[1].key, one[1].self_sha256


def _all_told(board: TaskStandings, counting: Sequence[tuple[AgentName, Result]]) -> list[_ScoredVersion]:
    """What each result says; what the board has worked out already is taken from there."""
    task = board.task
    by_name = {metric.name: place for place, metric in enumerate(other_metrics(task), 1)}
    places = [0, *(by_name[name] for name in task.ties)]
    metrics = [(ranking(task), *other_metrics(task))[place] for place in places]
    # By the name too: equal agents of two owners may have one key.
    shown = (((row.entry.name, row.result.key), (row.estimate.score, *row.others)) for row in board.rows)
    scores = {which: tuple([row[place] for place in places]) for which, row in shown}
    rest = [(name, one) for name, one in counting if one.verdict is Verdict.OK and (name, one.key) not in scores]
    if rest:
        columns = [values([one for _, one in rest], task, metric) for metric in metrics]
        scores |= {(name, one.key): row for (name, one), row in zip(rest, zip(*columns, strict=True), strict=True)}
    told = []
    for name, result in counting:
        found = scores[name, result.key] if result.verdict is Verdict.OK else None
        key = by_value(zip(metrics, found, strict=True)) if found else None
        told.append(_ScoredVersion(name=name, result=result, score=known_metrics(found[0]) if found else None, key=key))
    return told


def _replayed(told: Iterable[_ScoredVersion]) -> Iterator[_HistoryStep]:
    """Result after result: the place its agent had before, and the one it has with it."""
    stands: dict[AgentName, Key] = {}
    ordered: list[Key] = []
    for one in told:
        before = place = None
        if (old := stands.pop(one.name, None)) is not None:
            before = 1 + bisect_left(ordered, old)
            del ordered[before - 1]
        if one.key is not None:
            place = 1 + bisect_left(ordered, one.key)
            ordered.insert(place - 1, one.key)
            stands[one.name] = one.key
        yield _HistoryStep(one, old, before, place)


def _begins(step: _HistoryStep) -> float:
    """The first place that it can have changed."""
    return min((place for place in (step.before, step.place) if place is not None), default=inf)


def _is_below(key: Key | None, other: Key) -> bool:
    return key is not None and key < other


def _put(values: dict[AgentName, Value], name: AgentName, value: Value | None) -> None:
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value
