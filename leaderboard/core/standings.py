"""What a board says: the values that ranking makes and that pages, tables and feeds show."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.config.moderation import Exclusion
from evaluator.model.records.result import Result
from leaderboard.core.entry import Entry as Entry
from leaderboard.core.game_standings import GameStandings


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A score and its 95 % interval; NaN is what there is not, and no number of any kind."""

    score: float
    """Mean or IQM of the returns, or another metric; NaN where it is missing."""
    low: float
    """Lower end; NaN where nobody knows the spread."""
    high: float
    """Upper end; NaN where nobody knows the spread."""

    @property
    def is_missing(self) -> bool:
        """Whether there is no score."""
        return math.isnan(self.score)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One ranked entry of a task."""

    place: int
    """1 for the best; equal scores share a place."""
    rank_low: int
    """1 + entries significantly better."""
    rank_high: int
    """N − entries significantly worse."""
    with_leader: bool
    """Not told apart from the leader."""
    entry: Entry
    """Who."""
    result: Result
    """What was measured."""
    estimate: Estimate
    """What it amounts to."""
    attempts: int
    """Versions of its owner, or of its team, that were evaluated on this task."""
    others: tuple[float, ...] = ()
    """What the task's further metrics say, in their order; NaN where one is missing."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An entry without a score: listed, never ranked."""

    entry: Entry
    """Who."""
    result: Result
    """Its verdict and message."""
    attempts: int
    """Versions of its owner, or of its team, that were evaluated on this task."""

    @property
    def claimed(self) -> float | None:
        """The score that a script says of itself, where the task lists such scores apart."""
        return self.result.script.claimed if self.result.script else None


@dataclass(frozen=True, kw_only=True)
class Excluded:
    """An entry that moderation keeps off the board: listed with the reason, never ranked."""

    login: str
    """Whose."""
    agent: str
    """Its folder."""
    exclusion: Exclusion
    """Since when, by whom, why, and where it was discussed."""


@dataclass(frozen=True, kw_only=True)
class WithdrawnScore:
    """An entry that was measured officially and stands on main no more: listed, never ranked."""

    login: str
    """Whose."""
    agent: str
    """The folder it had."""
    result: Result
    """What was measured last."""
    score: float | None
    """What that amounts to; None where it failed."""


@dataclass(frozen=True, kw_only=True)
class TaskStandings:
    """The board of one task."""

    task: Task
    """Its settings."""
    rows: tuple[Row, ...]
    """By place, then the earlier entry first."""
    failures: tuple[Failure, ...]
    """By login and agent."""
    waiting: tuple[Entry, ...]
    """Entered, but nothing is recorded for the present version."""
    excluded: tuple[Excluded, ...] = ()
    """By login and agent; also those without a folder that were measured officially."""
    withdrawn: tuple[WithdrawnScore, ...] = ()
    """By login and agent."""

    @property
    def self_reported(self) -> tuple[Failure, ...]:
        """Those failures that are scripts' own claims."""
        return tuple(failure for failure in self.failures if failure.claimed is not None)

    @property
    def best(self) -> Row | None:
        """The first row that has a score, and if any has one a place of its own."""
        scored = (row for row in self.rows if not row.estimate.is_missing)
        first = next(scored, None)
        if first is None or not first.entry.is_aside:
            return first
        return next((row for row in scored if not row.entry.is_aside), first)


@dataclass(frozen=True, kw_only=True)
class OverallRow:
    """One entry across all tasks."""

    place: int
    """1 for the best."""
    rank_low: int
    """1 + entries significantly better."""
    rank_high: int
    """N − entries significantly worse."""
    with_leader: bool
    """Not told apart from the leader."""
    entry: Entry
    """Who."""
    estimate: Estimate
    """Mean over all tasks of the clipped normalised score; a task not entered or failed counts 0."""
    iqm: float
    """Interquartile mean across tasks: shown, never ranks."""
    normalised: dict[str, float | None]
    """Task id to clipped normalised score; None where there is none."""


@dataclass(frozen=True, kw_only=True)
class Standings:
    """The whole board."""

    challenge: Challenge
    """Its rules."""
    official: bool
    """False for a local board, which says so."""
    overall: tuple[OverallRow, ...]
    """By place. Only entries with at least one score."""
    tasks: tuple[TaskStandings, ...]
    """The tasks that are played alone, in the order of challenge.yml."""
    games: tuple[GameStandings, ...] = ()
    """The games, in the order of challenge.yml."""

    @property
    def boards(self) -> tuple[TaskStandings | GameStandings, ...]:
        """All of them, tasks first."""
        return (*self.tasks, *self.games)


def entries_of(board: TaskStandings | GameStandings) -> Iterator[Entry]:
    """Everybody on a board: with a place, without a score, and waiting."""
    yield from (row.entry for row in board.rows)
    yield from (failure.entry for failure in board.failures)
    yield from board.waiting
