"""Estimates of all tasks, and what the overall leaderboard needs of them."""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evaluator.model.config.task import Task
from leaderboard.core.arrays import Floats
from leaderboard.core.entry import AgentName
from leaderboard.core.parallel import run_in_background
from leaderboard.scoring.intervals import EstimateArrays, PooledResults, deviation, normal_quantiles, pooled_estimate

# A normalised score counts as the nearest number between these: as much as a missing one, or twice the reference.
LEAST_COUNTED, MOST_COUNTED = 0.0, 2.0
# From this many results on, a second process estimates half of the tasks.
BACKGROUND_RESULTS = 10_000
# Equally likely values of a standard normal variable, which show how clipping changes a standard error.
_NORMAL_VALUES = normal_quantiles((np.arange(200) + 0.5) / 200)
# Degrees of freedom are rounded down to one of these, so that few different critical values are needed.
_FREEDOMS = np.array([*range(1, 11), 12, 15, 20, 25, 30, 40, 60, 120, 500])


@dataclass(frozen=True, kw_only=True)
class CommonScale:
    """The scale of normalised scores of a task, given by its anchors."""

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
    """Yield the task's scale if it has both anchors."""
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


class OverallSample(NamedTuple):
    """The uncertainty of an entry's mean of normalised scores across all tasks; a missing score counts 0."""

    centre: float
    """As in `EstimateArrays`."""
    error: float
    size: float


def score_all(boards: Sequence[ScoredResults]) -> tuple[list[EstimateArrays], dict[AgentName, OverallSample]]:
    """The estimates of every task, and what the overall leaderboard needs of each entry with a normalised score."""
    half = len(boards) // 2 if sum(len(board.pooled_results) for board in boards) >= BACKGROUND_RESULTS else 0
    with ExitStack() as stack:
        first = stack.enter_context(run_in_background(lambda: _estimates(boards[:half]))) if half else list
        others = _estimates(boards[half:])
        measured = first() + others
    return measured, _overall_samples(boards, measured)


def _estimates(boards: Sequence[ScoredResults]) -> list[EstimateArrays]:
    return [pooled_estimate(board.pooled_results, board.task, board.tries) for board in boards]


def _overall_samples(boards: Sequence[ScoredResults], measured: Sequence[EstimateArrays]) -> dict[AgentName, OverallSample]:
    """The centre, error and size of the weighted mean of each entry's independent scores.

    The degrees of freedom are Welch and Satterthwaite's (Biometrics Bulletin 2, 1946). A score that is clipped has the
    standard deviation of a normal one after clipping.
    """
    scales = [(scale, *pair) for pair in zip(boards, measured, strict=True) for scale in common_scale(pair[0].task)]
    total = math.fsum(scale.task.weight for scale, _, _ in scales)
    names = sorted({name for _, board, _ in scales for name in board.names})
    row_of = {name: row for row, name in enumerate(names)}
    centre, variance, spread, has_score = np.zeros((4, len(names)))
    least = np.full(len(names), np.inf)
    for scale, board, estimates in scales:
        scored = np.flatnonzero(~np.isnan(estimates.score))
        rows = np.array([row_of[board.names[index]] for index in scored.tolist()], dtype=np.intp)
        middle, freedom = scale.normalised(estimates.centre[scored]), np.maximum(estimates.size[scored] - 1, 1)
        share = scale.task.weight / total
        part = (share * _counted_error(middle, estimates.error[scored] / abs(scale.one - scale.zero))) ** 2
        centre[rows] += share * counted_scores(middle)
        variance[rows] += part
        spread[rows] += part**2 / freedom
        least[rows] = np.minimum(least[rows], freedom)
        has_score[rows] = 1
    is_known = np.isfinite(variance) & (spread > 0)
    freedom = np.where(is_known, variance**2 / np.where(is_known, spread, 1), least)
    size = 1 + _FREEDOMS[np.maximum(np.searchsorted(_FREEDOMS, freedom * (1 + 1e-9), side="right") - 1, 0)]
    columns = np.stack([centre, np.sqrt(variance), size.astype(np.float64)]).T.tolist()
    return {name: OverallSample(*fields) for name, fields, has in zip(names, columns, has_score, strict=True) if has}


def _counted_error(centre: Floats, error: Floats) -> Floats:
    """The standard error of a counted score, from that of the normalised score, shape (entries,)."""
    is_known = np.isfinite(error)
    drawn = centre[:, None] + np.where(is_known, error, 0)[:, None] * _NORMAL_VALUES
    is_clipped = (drawn[:, 0] < LEAST_COUNTED) | (drawn[:, -1] > MOST_COUNTED)
    return np.where(is_known & is_clipped, deviation(counted_scores(drawn)), error)
