"""Estimates of all tasks, and the common scale that puts scores of different tasks side by side."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from evaluator.model.config.task import Task
from leaderboard.core.arrays import Floats
from leaderboard.core.entry import AgentName
from leaderboard.core.parallel import run_in_background
from leaderboard.scoring.intervals import EstimateArrays, PooledResults, pooled_estimate

# A normalised score counts as the nearest number between these: as much as a missing one, or twice the reference.
LEAST_COUNTED, MOST_COUNTED = 0.0, 2.0
# From this many results on, a second process estimates half of the tasks.
BACKGROUND_RESULTS = 10_000


@dataclass(frozen=True, kw_only=True)
class CommonScale:
    """The scale of normalised scores of a task, given by its reference scores."""

    task: Task
    zero: float
    """The random agent's score."""
    one: float
    """The reference's score."""

    def normalised(self, score: Floats) -> Floats:
        """Scores of any shape, normalised."""
        return (score - self.zero) / (self.one - self.zero)


def counted_scores(normalised: Floats) -> Floats:
    """What normalised scores count in the overall score; a missing one (NaN) counts 0."""
    values: Floats = np.clip(np.nan_to_num(normalised, nan=0.0, posinf=np.inf, neginf=-np.inf), LEAST_COUNTED, MOST_COUNTED)
    return values


def common_scale(task: Task) -> Iterator[CommonScale]:
    """Yield the task's scale if it has both reference scores."""
    if task.random and task.reference:
        yield CommonScale(task=task, zero=task.random.score, one=task.reference.score)


@dataclass(frozen=True, kw_only=True)
class ScoredResults:
    """The results of one task that have a score."""

    task: Task
    names: Sequence[AgentName]
    pooled_results: Sequence[PooledResults]
    """The pooled results of each name."""
    tries: Sequence[int]
    """As in `EstimateArrays`, for each name."""


def score_all(boards: Sequence[ScoredResults]) -> list[EstimateArrays]:
    """The estimates of every task."""
    half = len(boards) // 2 if sum(len(board.pooled_results) for board in boards) >= BACKGROUND_RESULTS else 0
    with ExitStack() as stack:
        first = stack.enter_context(run_in_background(lambda: _estimates(boards[:half]))) if half else list
        others = _estimates(boards[half:])
        return first() + others


def _estimates(boards: Sequence[ScoredResults]) -> list[EstimateArrays]:
    return [pooled_estimate(board.pooled_results, board.task, board.tries) for board in boards]
