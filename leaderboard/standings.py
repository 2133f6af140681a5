"""What a board says: the values that ranking makes and that pages, tables and feeds show."""

from dataclasses import dataclass

from evaluator.model.challenge import Challenge, Task
from evaluator.model.moderation import Exclusion
from evaluator.model.result import Result
from evaluator.model.submission import Submission


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An agent that stands on main now."""

    login: str
    """Its owner; `local` for the examples."""
    agent: str
    """Its folder."""
    submission: Submission
    """What its manifest says."""
    digest: str
    """Its version: results of another one do not rank."""
    baseline: bool = False
    """Shown for comparison, by the host."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A score and its 95 % interval."""

    score: float
    """Mean or IQM of the returns."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""


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
    """Versions of this agent that were evaluated on this task."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An entry without a score: listed, never ranked."""

    entry: Entry
    """Who."""
    result: Result
    """Its verdict and message."""
    attempts: int
    """Versions of this agent that were evaluated on this task."""


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
class Withdrawn:
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
class TaskBoard:
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
    withdrawn: tuple[Withdrawn, ...] = ()
    """By login and agent."""


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
    tasks: tuple[TaskBoard, ...]
    """In the order of challenge.yml."""
