"""History of a leaderboard: record scores, places over time, and the newest entries with their places.

It is computed from the dates of results. At any moment an agent counts with the results that its newest version had by then,
as on the leaderboard; failures on our side do not count. Places are among the agents that are on the leaderboard now, so
that the last ones are those of the leaderboard.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import NamedTuple, TypeVar

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName, Entry
from leaderboard.core.game_standings import GameStandings, RatingSnapshot
from leaderboard.core.standings import Standings, TaskRow, TaskStandings, entries_of, without_late_draws
from leaderboard.core.version_folders import VersionFolders, version_folders
from leaderboard.scoring.intervals import PooledResults, pooled_values
from leaderboard.scoring.metrics import by_value, other_metrics, ranking_metric, value_or_none
from leaderboard.scoring.ranking import Key

Value = TypeVar("Value")
# A chart has no more colours to tell lines apart.
SHOWN_HISTORIES = 8


@dataclass(frozen=True, kw_only=True)
class BestScore:
    """A score that was better than everything before it."""

    login: str
    agent: str
    at: str
    """When it was measured, in UTC."""
    score: float
    """In the unit of the metric that ranks."""


@dataclass(frozen=True, kw_only=True)
class RankHistory:
    """The places of one entry."""

    entry: Entry
    places: tuple[tuple[str, int | None], ...]
    """Time in UTC and the place from then on; None while it had no score."""


@dataclass(frozen=True, kw_only=True)
class LeaderboardEvent:
    """A version of an entry got a score, and with it a place."""

    entry: Entry
    task: Task
    at: str
    """In UTC."""
    score: float
    """The metric that ranks, or the rating."""
    place: int
    """Among the agents that are on the leaderboard now."""
    place_before: int | None
    """None if it had no score."""


@dataclass(frozen=True, kw_only=True)
class LeadChange:
    """Somebody else began to lead a task or a game."""

    entry: Entry
    task: Task
    at: str
    """In UTC."""
    score: float | None
    """With which it leads: the metric that ranks, or the rating."""
    former: Entry | None
    """Who led before; None for the first leader."""
    is_fall: bool = False
    """Whether it leads because the former leader's new result is worse."""


@dataclass(frozen=True, kw_only=True)
class _ScoredVersion:
    """One result, and the score of its version since then."""

    name: AgentName
    result: Result
    score: float | None
    """None if it failed or has no value."""
    key: Key | None
    """A sort key, the better one smaller; None if it failed."""

    @property
    def at(self) -> str:
        return self.result.provenance.evaluated_at


class _HistoryStep(NamedTuple):
    """How a result changed the place of its agent."""

    version: _ScoredVersion
    old: Key | None
    """The key of the agent's result before; None if it had no score."""
    before: int | None
    """The agent's place before, and after."""
    place: int | None


class LeaderboardHistory:
    """The history of all leaderboards; each is computed once, when it is first needed."""

    def __init__(self, standings: Standings, results: Sequence[Result]) -> None:
        """Take the standings and all records; records that do not count there are ignored."""
        self._standings, self._recorded = standings, results
        self._versions: dict[str, list[_ScoredVersion]] = {}
        self._changes: dict[str, list[_HistoryStep]] = {}

    @cached_property
    def _folders(self) -> VersionFolders:
        """A renamed folder has the history of its version."""
        return version_folders(self._standings.entries.values())

    @cached_property
    def _results(self) -> dict[str, list[Result]]:
        """The results that count, by task."""
        by_task: dict[str, list[Result]] = {}
        season, official = self._standings.challenge.season, self._standings.official
        for result in without_late_draws(self._recorded, self._standings.final):
            if result.season == season and (is_official(result) or not official) and not self._is_excluded(result):
                by_task.setdefault(result.task, []).append(result)
        return by_task

    def _is_excluded(self, result: Result) -> bool:
        """Whether its version is: another one may stand in that folder."""
        moderation = self._standings.moderation
        if not moderation.exclusions:  # As on most boards, which may have 80,000 results.
            return False
        return moderation.exclusion_of(*self._folders.of(result), result.submission_digest) is not None

    def _is_for_comparison(self, name: AgentName) -> bool:
        """Whether an agent that left took no place: the hosts' own, such as a rehearsal, the baselines and the examples."""
        challenge, is_example = self._standings.challenge, name.login == EXAMPLES_LOGIN
        return is_example or challenge.people.is_host(name.login) or challenge.is_baseline(*name, example=False)

    def best_scores(self, board: TaskStandings) -> tuple[BestScore, ...]:
        """Each score that was the best when it was measured, oldest first, of all versions and withdrawn agents.

        Excluded entries, and those listed only for comparison, set none.
        """
        found: list[BestScore] = []
        best: Key | None = None
        for version in self._of(board):
            if version.key is None or version.score is None or (best is not None and best <= version.key[:1]):
                continue
            best = version.key[:1]
            result = version.result
            found.append(BestScore(login=result.login, agent=result.agent, at=version.at, score=version.score))
        return tuple(found)

    def places_over_time(self, board: TaskStandings) -> tuple[RankHistory, ...]:
        """The places over time of the first entries of a leaderboard; the last places are its own."""
        rows = _placed(board.rows)[:SHOWN_HISTORIES]
        changes: dict[AgentName, list[tuple[str, int | None]]] = {row.entry.name: [] for row in rows}
        places: dict[AgentName, int] = {}
        keys: dict[AgentName, Key] = {}
        last = ""
        for step in self._steps(board):
            last, name = step.version.at, step.version.name
            if name not in changes and _first_changed_place(step) > max(places.values(), default=0):
                continue
            for other, key in keys.items():
                places[other] += _is_below(step.version.key, key) - _is_below(step.old, key)
            if name in changes:
                _put(keys, name, step.version.key)
                _put(places, name, step.place)
            for other, history in changes.items():
                place = places.get(other)
                if (history[-1][1] if history else None) != place:
                    history.append((last, place))
        # The version on main is not always the one that was measured last.
        for row in rows if last else ():
            history = changes[row.entry.name]
            if not history or history[-1][1] != row.place:
                history.append((last, row.place))
        return tuple(RankHistory(entry=row.entry, places=tuple(changes[row.entry.name])) for row in rows)

    def events(self, limit: int) -> tuple[LeaderboardEvent, ...]:
        """The newest `limit` events of all leaderboards, newest first, of entries that are on them now."""
        return _newest((event for board in self._standings.boards for event in self.events_of(board, limit)), limit)

    def events_of(self, board: TaskStandings | GameStandings, limit: int) -> tuple[LeaderboardEvent, ...]:
        """The newest `limit` events of one task or game, newest first."""
        if isinstance(board, GameStandings):
            return _newest(_first_ratings(board), limit)
        return _newest(_task_events(board, self._steps(board), limit), limit)

    def leads(self) -> tuple[LeadChange, ...]:
        """Who began to lead which task or game when, newest first, among the agents that are on the leaderboard now."""
        changes = [change for board in self._standings.tasks for change in _task_leads(board, self._steps(board))]
        changes += [change for game in self._standings.games for change in _game_leads(game)]
        # Not sorted in reverse: of one second, too, the later change comes first.
        return tuple(sorted(changes, key=lambda change: (change.at, change.task.id))[::-1])

    def _steps(self, board: TaskStandings) -> list[_HistoryStep]:
        """How each result of the agents on the leaderboard changed places, oldest first."""
        if board.task.id not in self._changes:
            names = _competing(board)
            self._changes[board.task.id] = list(_steps(version for version in self._of(board) if version.name in names))
        return self._changes[board.task.id]

    def _of(self, board: TaskStandings) -> list[_ScoredVersion]:
        """The results of agents that are on the leaderboard or were withdrawn, oldest first."""
        if board.task.id not in self._versions:
            gone = {AgentName.folded(row.login, row.agent) for row in board.withdrawn}
            names = _competing(board) | {name for name in gone if not self._is_for_comparison(name)}
            results = self._results.get(board.task.id, ())
            counting = _counting(board.task, ((self._folders.of(result), result) for result in results), names)
            self._versions[board.task.id] = _scored(board, counting)
        return self._versions[board.task.id]


def _newest(events: Iterable[LeaderboardEvent], limit: int) -> tuple[LeaderboardEvent, ...]:
    return tuple(sorted(events, key=lambda event: (event.at, event.task.id, event.entry.name), reverse=True)[:limit])


def _task_events(board: TaskStandings, steps: Sequence[_HistoryStep], limit: int) -> Iterator[LeaderboardEvent]:
    """Newest first: `limit` events, and others of the same second."""
    entries = {row.entry.name: row.entry for row in board.rows}
    count, oldest = 0, ""
    for version, _, before, place in reversed(steps):
        if count >= limit and version.at < oldest:
            return
        if version.score is not None and place is not None and (entry := entries.get(version.name)):
            yield LeaderboardEvent(
                entry=entry, task=board.task, at=version.at, score=version.score, place=place, place_before=before
            )
            count, oldest = count + 1, version.at


def _task_leads(board: TaskStandings, steps: Sequence[_HistoryStep]) -> Iterator[LeadChange]:
    """An equal score takes no lead: who had it first goes on leading."""
    entries = {row.entry.name: row.entry for row in board.rows}
    versions: dict[AgentName, _ScoredVersion] = {}
    leader: AgentName | None = None
    for step in steps:
        name = step.version.name
        _put(versions, name, step.version if step.version.key is not None else None)
        former, led = leader, versions.get(leader) if leader else None
        if name == leader and step.place != 1:
            leader = min(versions, key=lambda version: versions[version].key or (), default=None)
        elif step.place == 1 and (led is None or _is_below(step.version.key, led.key or ())):
            leader = name
        if leader is not None and leader != former and leader in entries:
            yield LeadChange(
                entry=entries[leader], task=board.task, at=step.version.at, score=versions[leader].score,
                former=entries.get(former) if former else None, is_fall=leader != name,
            )  # fmt: skip


def _game_leads(board: GameStandings) -> Iterator[LeadChange]:
    """By the ratings after the duels of each day."""
    rows = {row.entry.name: row for row in board.rows if not row.is_unranked}
    leader: AgentName | None = None
    for snapshot in board.history:
        rated = {name: elo for name, elo in snapshot.elo.items() if name in rows}
        best = max(rated, key=lambda name: (rated[name], name == leader), default=leader)
        if best is not None and best != leader:
            yield LeadChange(
                entry=rows[best].entry, task=board.task, at=f"{snapshot.day}T00:00:00Z", score=rated[best],
                former=rows[leader].entry if leader else None,
            )  # fmt: skip
            leader = best


def _first_ratings(board: GameStandings) -> Iterator[LeaderboardEvent]:
    """Each player's first rating; players of one day in the order of their ratings."""
    rows = {row.entry.name: row for row in board.rows if not row.is_unranked}
    empty = RatingSnapshot(day="", elo={})
    for before, after in pairwise((empty, *board.history)):
        order = sorted(-elo for name, elo in after.elo.items() if name in rows)
        for name in sorted(after.elo.keys() - before.elo.keys()):
            if row := rows.get(name):
                place = 1 + bisect_left(order, -after.elo[name])
                at = row.since if row.since[:10] == after.day else f"{after.day}T00:00:00Z"
                yield LeaderboardEvent(
                    entry=row.entry, task=board.task, at=at, score=after.elo[name], place=place, place_before=None
                )


def _placed(rows: Sequence[TaskRow]) -> list[TaskRow]:
    return [row for row in rows if not row.is_unranked and not row.estimate.is_missing]


def _competing(board: TaskStandings) -> set[AgentName]:
    """The agents that take a place on the leaderboard now, or would with a score."""
    return {entry.name for entry in entries_of(board) if not entry.is_unranked and entry.name not in board.superseded}


def _counting(
    task: Task, results: Iterable[tuple[AgentName, Result]], names: set[AgentName]
) -> list[tuple[AgentName, Result]]:
    """The results of these agents on this task that count, oldest first."""
    digest = task.digest()
    counting = [
        (name, result)
        for name, result in results
        if name in names and result.task_digest == digest and result.verdict is not Verdict.INTERNAL_ERROR
    ]
    return sorted(counting, key=_by_time)


def _by_time(named: tuple[AgentName, Result]) -> tuple[str, str, str]:
    return named[1].provenance.evaluated_at, named[1].key, named[1].self_sha256


def _scored(board: TaskStandings, counting: Sequence[tuple[AgentName, Result]]) -> list[_ScoredVersion]:
    """Each result with its score, taken from the leaderboard where it has one."""
    task = board.task
    by_name = {metric.name: place for place, metric in enumerate(other_metrics(task), 1)}
    places = [0, *(by_name[name] for name in task.ties)]
    metrics = [(ranking_metric(task), *other_metrics(task))[place] for place in places]
    # By the name too: equal agents of two owners may have the same key.
    shown = (((row.entry.name, row.result.key), (row.estimate.score, *row.others)) for row in board.rows)
    scores = {name_and_key: tuple([row[place] for place in places]) for name_and_key, row in shown}
    rest = [(key, pooled) for key, pooled in _pooled_by_then(counting) if key not in scores]
    if rest:
        columns = [pooled_values([pooled for _, pooled in rest], task, metric) for metric in metrics]
        scores |= {key: row for (key, _), row in zip(rest, zip(*columns, strict=True), strict=True)}
    versions, failed = [], set()
    unscored = {(failure.entry.name, failure.entry.digest) for failure in board.failures}
    for name, result in counting:
        version = (name, result.submission_digest)
        if result.verdict is not Verdict.OK and version in unscored:
            failed.add(version)
        is_scored = result.verdict is Verdict.OK and version not in failed
        row = scores[name, result.key] if is_scored else None
        key = by_value(zip(metrics, row, strict=True)) if row else None
        versions.append(_ScoredVersion(name=name, result=result, score=value_or_none(row[0]) if row else None, key=key))
    return versions


def _pooled_by_then(counting: Sequence[tuple[AgentName, Result]]) -> Iterator[tuple[tuple[AgentName, str], PooledResults]]:
    """For each result with a score, by agent and key, the results of its version that were pooled when it was recorded."""
    recorded: dict[tuple[AgentName, str], dict[str, Result]] = {}
    for name, result in counting:
        if result.verdict is not Verdict.OK:
            continue
        by_beacon = recorded.setdefault((name, result.submission_digest), {})
        if is_official(result):
            by_beacon[result.beacon] = result
        yield (name, result.key), tuple(by_beacon.values()) if is_official(result) else (result,)


def _steps(versions: Iterable[_ScoredVersion]) -> Iterator[_HistoryStep]:
    """For each result the place that its agent had before, and the place with it."""
    keys: dict[AgentName, Key] = {}
    ordered: list[Key] = []
    for version in versions:
        before = place = None
        if (old := keys.pop(version.name, None)) is not None:
            before = 1 + bisect_left(ordered, old)
            del ordered[before - 1]
        if version.key is not None:
            place = 1 + bisect_left(ordered, version.key)
            ordered.insert(place - 1, version.key)
            keys[version.name] = version.key
        yield _HistoryStep(version, old, before, place)


def _first_changed_place(step: _HistoryStep) -> float:
    """The best place that a step can have changed."""
    return min((place for place in (step.before, step.place) if place is not None), default=inf)


def _is_below(key: Key | None, other: Key) -> bool:
    return key is not None and key < other


def _put(values: dict[AgentName, Value], name: AgentName, value: Value | None) -> None:
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value
