"""The standings of tasks and across tasks: what ranking computes, and what pages, tables and feeds show."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.moderation import Moderation
from evaluator.model.config.task import Task
from evaluator.model.records.parse import Record
from evaluator.model.records.result import Result
from evaluator.model.sealed_fields import secret_hash
from leaderboard.core.entry import AgentName, Entry, Estimate, Excluded, RankedEntry
from leaderboard.core.game_standings import GameFailure, GameRow, GameStandings


@dataclass(frozen=True, kw_only=True)
class FinalDraws:
    """The draws that alone rank after submissions have ended."""

    beacon: str
    """The commit that ended the season, or the secret revealed."""
    ended_at: str | None = None
    """When that commit came, or the secret was published, in UTC; None: whenever a draw was made, it counts."""

    def counts(self, beacon: str, evaluated_at: str) -> bool:
        """Whether a record may rank, and choose between an owner's entries: made before the end, or one of the final draws.

        A sealed season has no draws after its reveal: its episodes are known by then.
        """
        is_drawn_afterwards = beacon == self.beacon and secret_hash(beacon) is None
        return self.ended_at is None or is_drawn_afterwards or evaluated_at < self.ended_at


def without_late_draws(records: Iterable[Record], final: FinalDraws | None) -> list[Record]:
    """The records without draws that were under way when submissions ended, or when a sealed season was revealed.

    Their owners know the final draws, or the episodes, by then. They can let the files or the image of a version fail, or
    tell it by the clock how to play.
    """
    return [record for record in records if final is None or final.counts(record.beacon, record.provenance.evaluated_at)]


@dataclass(frozen=True, kw_only=True)
class TaskRow(RankedEntry):
    """One ranked entry of a task."""

    pooled_results: tuple[Result, ...]
    """The results of its version whose episodes are pooled, oldest first: one for each draw of seeds."""
    estimate: Estimate
    versions_tried: int
    """Versions of its owner, or of its team, that were evaluated on this task."""
    since: str
    """When its version first had a score on this task, in UTC; being evaluated again, as in the end, makes it no later."""
    others: tuple[float, ...] = ()
    """Values of the task's further metrics, in their order; NaN if missing."""

    @property
    def result(self) -> Result:
        """The newest of them."""
        return self.pooled_results[-1]

    @property
    def episodes(self) -> int:
        """Episodes of all of them; 0 if they are sealed."""
        return sum(len(result.returns) for result in self.pooled_results)


@dataclass(frozen=True, kw_only=True)
class TaskFailure:
    """An entry without a score: listed, never ranked."""

    entry: Entry
    result: Result
    versions_tried: int
    """As in `TaskRow`."""

    @property
    def claimed(self) -> float | None:
        """The score that a script reports of itself, on a task that lists such scores apart."""
        return self.result.script.claimed if self.result.script else None


@dataclass(frozen=True, kw_only=True)
class WithdrawnScore:
    """An agent with an official result that is not on main any more: listed, never ranked."""

    login: str
    agent: str
    result: Result
    """The newest."""
    score: float | None
    """None if that result failed."""


@dataclass(frozen=True, kw_only=True)
class TaskStandings:
    """The leaderboard of one task."""

    task: Task
    rows: tuple[TaskRow, ...]
    """By place, then the earlier entry first; those whose place another version holds come last."""
    failures: tuple[TaskFailure, ...]
    """By login and agent."""
    waiting: tuple[Entry, ...]
    """Entered, but nothing is recorded for the present version, or not all draws of one that came back."""
    excluded: tuple[Excluded, ...] = ()
    """By login and agent; also agents without a folder that have official results."""
    withdrawn: tuple[WithdrawnScore, ...] = ()
    """By login and agent."""
    superseded: Mapping[AgentName, str] = field(default_factory=dict)
    """In final ranks: each entry without a place, with or without a score, and the version that holds its owner's place."""

    @property
    def self_reported(self) -> tuple[TaskFailure, ...]:
        """Those failures that are scripts' own claims."""
        return tuple(failure for failure in self.failures if failure.claimed is not None)

    @property
    def best(self) -> TaskRow | None:
        """The first row with a score; one with a place of its own if there is any."""
        scored = (row for row in self.rows if not row.estimate.is_missing)
        first = next(scored, None)
        if first is None or not first.is_unranked:
            return first
        return next((row for row in scored if not row.is_unranked), first)


@dataclass(frozen=True, kw_only=True)
class OverallRow(RankedEntry):
    """One entry across all tasks."""

    estimate: Estimate
    """Mean over all tasks of what the normalised scores count; a task not entered or failed counts 0."""
    iqm: Estimate
    """Interquartile mean over all episodes of all tasks, normalised: shown, never ranks; missing if it was not asked for."""
    normalised: dict[str, float | None]
    """Task id to normalised score; None if there is none."""

    @property
    def played(self) -> int:
        """On how many tasks it has a score."""
        return sum(value is not None for value in self.normalised.values())

    @property
    def is_half_played(self) -> bool:
        """Whether it has a score on half of the tasks; with fewer it gets neither a medal nor an interquartile mean."""
        return 2 * self.played >= len(self.normalised)

    @property
    def has_medal(self) -> bool:
        """Also not with a score on fewer than half of the tasks."""
        return super().has_medal and self.is_half_played

    def beyond(self, low: float, high: float) -> list[str]:
        """The ids of the tasks whose normalised score is outside a range."""
        return [task for task, value in self.normalised.items() if value is not None and not low <= value <= high]


@dataclass(frozen=True, kw_only=True)
class Standings:
    """All leaderboards of a challenge."""

    challenge: Challenge
    official: bool
    """False for a local leaderboard, which says so."""
    overall: tuple[OverallRow, ...]
    """By place, in the order of `TaskStandings.rows`; only entries with at least one score."""
    tasks: tuple[TaskStandings, ...]
    """The solo tasks, in the order of challenge.yml."""
    games: tuple[GameStandings, ...] = ()
    """In the order of challenge.yml."""
    final: FinalDraws | None = None
    """As in `build_standings`."""
    moderation: Moderation = field(default_factory=Moderation)
    """As in `build_standings`."""

    @property
    def boards(self) -> tuple[TaskStandings | GameStandings, ...]:
        """All of them, tasks first."""
        return (*self.tasks, *self.games)

    @cached_property
    def entries(self) -> Mapping[AgentName, Entry]:
        """Every entry on some leaderboard."""
        return {entry.name: entry for board in self.boards for entry in entries_of(board)}

    @property
    def ranked_agents(self) -> int:
        """Agents with a place of their own on a task or in a game, each counted once."""
        placed = {
            row.entry.name for task in self.tasks for row in task.rows if not (row.is_unranked or row.estimate.is_missing)
        }
        return len(placed | {row.entry.name for game in self.games for row in game.rows if not row.is_unranked})


def results_of(standings: Standings) -> Iterator[Result]:
    """The results of all ranked and failed entries."""
    for board in standings.tasks:
        yield from (row.result for row in board.rows)
        yield from (failure.result for failure in board.failures)


Listed = TaskRow | TaskFailure | GameRow | GameFailure | None
"""What a leaderboard has of an entry; None while it waits."""


def listed_entries(board: TaskStandings | GameStandings) -> Iterator[tuple[Entry, Listed]]:
    """All entries of a leaderboard: ranked, failed and waiting."""
    yield from ((row.entry, row) for row in board.rows)
    yield from ((failure.entry, failure) for failure in board.failures)
    yield from ((entry, None) for entry in board.waiting)


ListedOnBoards = Sequence[tuple[TaskStandings | GameStandings, Listed]]
"""What the leaderboards have of one agent, tasks first."""


def listed_by_agent(standings: Standings, names: Iterable[AgentName]) -> Mapping[AgentName, ListedOnBoards]:
    """What the leaderboards have of these agents."""
    agents: dict[AgentName, list[tuple[TaskStandings | GameStandings, Listed]]] = {name: [] for name in names}
    for board in standings.boards:
        for entry, listed in listed_entries(board):
            if entry.name in agents:
                agents[entry.name].append((board, listed))
    return agents


def entries_of(board: TaskStandings | GameStandings) -> Iterator[Entry]:
    """All entries of a leaderboard, without their rows."""
    return (entry for entry, _ in listed_entries(board))
