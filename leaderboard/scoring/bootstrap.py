"""The bootstrap of a median: scores of resampled episodes as one matrix product, the same on every processor.

Means and interquartile means have formulas instead (`intervals.py`); the overall one has `overall_iqm.py`.

A resample of n sorted values is a row of counts, and its mean is counts · values / n. The trimmed mean of a resample is also
linear in the sorted values: a value counts as often as its copies fall into the ranks that are not trimmed. So all resamples
of all results are `values @ counts`; the median is the mean with all but the middle trimmed (Efron & Tibshirani, An
Introduction to the Bootstrap, 1993, chapter 20: the resampling vector).

A sum of floats depends on the order of addition, which differs between processors' libraries. So the values are rounded
to multiples of a step, small enough to change no figure shown, and large enough that each sum fits a float exactly. Then
every order gives the same sum.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Literal, Protocol, assert_never

import numpy as np
import numpy.typing as npt

from evaluator.model import canonical_json
from leaderboard.core.arrays import Floats, Indices

Scoring = Literal["mean", "iqm", "median"]
Bounds = tuple[float, float] | None


class ScoringRule(Protocol):
    """How the values of episodes become a score: a task for its returns, an `EpisodeMetric` for another metric."""

    @property
    def id(self) -> str:
        """The task's id, from which the random stream is derived."""

    @property
    def score(self) -> Scoring:
        """Mean, interquartile mean or median."""

    @property
    def bounds(self) -> Bounds:
        """The lowest and the highest possible value of an episode."""


RESAMPLES = 2000
# Results of one matrix product: half a megabyte of scores, which stay in a processor's cache.
RESULTS_AT_ONCE = 32
# Resamples drawn at once, since drawing takes several times their memory.
RESAMPLES_AT_ONCE = 40
# Bits of the integers that a float holds exactly.
FLOAT_BITS = 53
# The lowest exponent of a step; below it a float loses digits.
LOWEST_EXPONENT = -1000
# The share trimmed from each end for the interquartile mean.
QUARTER = 0.25


def random_stream(*content: str | int) -> np.random.Generator:
    """A random generator seeded by `content` alone (SHA-256 of its canonical JSON)."""
    return np.random.Generator(np.random.PCG64(int(canonical_json.digest(list(content)), 16)))


def trim_count(size: int, scoring: Scoring) -> int:
    """How many of `size` sorted values are trimmed from each end; for the IQM as `scipy.stats.trim_mean` does."""
    match scoring:
        case "mean":
            return 0
        case "iqm":
            return int(QUARTER * size)
        case "median":
            # One or two values in the middle are left.
            return (size - 1) // 2
        case _:
            assert_never(scoring)


def by_length(returns: Sequence[Sequence[float]]) -> Iterator[Indices]:
    """The positions of results with the same number of episodes, one array for each number, ascending."""
    lengths = np.array([len(row) for row in returns], dtype=np.intp)
    for length in sorted(set(lengths.tolist())):
        yield np.flatnonzero(lengths == length)


def sorted_values(returns: Sequence[Sequence[float]], bounds: Bounds) -> Floats:
    """The values to resample: the returns, and one pseudo-episode at each bound if there are bounds.

    Args:
        returns: the same number for each result.
        bounds: the lowest and the highest possible return.

    Returns:
        Ascending values, shape (results, episodes) or (results, episodes + 2).
    """
    values = np.concatenate(returns, dtype=np.float64).reshape(len(returns), -1)
    if bounds:
        values = np.hstack([values, np.tile(np.array(bounds, dtype=np.float64), (len(values), 1))])
    return np.sort(values, axis=1)


@functools.lru_cache(maxsize=64)
def _task_counts(task_id: str, size: int, scoring: Scoring) -> Floats:
    """The counts of a task, drawn once for all its entries."""
    return resample_counts(size, scoring, random_stream("pullrank-bootstrap-1", task_id, size))


def resample_counts(size: int, scoring: Scoring, random: np.random.Generator) -> Floats:
    """How often each of `size` sorted values counts in the score of each resample.

    Returns:
        Shape (size, RESAMPLES); each column adds up to the number of values that are not trimmed.
    """
    cut = trim_count(size, scoring)
    table = np.empty((size, RESAMPLES))
    for begin in range(0, RESAMPLES, RESAMPLES_AT_ONCE):
        copies = random.multinomial(size, np.full(size, 1 / size), size=RESAMPLES_AT_ONCE)
        table[:, begin : begin + RESAMPLES_AT_ONCE] = (_trimmed_copies(copies, cut) if cut else copies).T
    return table


def _trimmed_copies(copies: npt.NDArray[np.int64], cut: int) -> npt.NDArray[np.int64]:
    """How many copies of each value are left when `cut` values are trimmed from both ends of each resample."""
    up_to = np.clip(np.cumsum(copies, axis=1), cut, copies.shape[1] - cut)
    return np.diff(up_to, axis=1, prepend=cut).astype(np.int64, copy=False)


def resampled_scores(returns: Sequence[Sequence[float]], task: ScoringRule) -> Iterator[tuple[Indices, Floats]]:
    """Scores of resampled episodes, a few results at a time.

    The random stream depends on the task's id and the number of values only: a result has the same resamples on every
    leaderboard, and results with the same returns in any order have the same scores.

    Args:
        returns: the returns of each result; lengths may differ.
        task: how returns become a score, and their bounds.

    Yields:
        Positions in `returns`, shape (rows,), and the scores of their resamples, shape (rows, RESAMPLES).
    """
    for chosen in by_length(returns):
        values = sorted_values([returns[i] for i in chosen], task.bounds)
        size = values.shape[1]
        table, kept = _task_counts(task.id, size, task.score), size - 2 * trim_count(size, task.score)
        for start in range(0, len(chosen), RESULTS_AT_ONCE):
            yield chosen[start : start + RESULTS_AT_ONCE], _means(values[start : start + RESULTS_AT_ONCE], table, kept)


def _means(values: Floats, table: Floats, kept: int) -> Floats:
    """`values @ table / kept`, computed from differences to the middle value: constant returns stay exactly constant."""
    middle = values[:, values.shape[1] // 2, np.newaxis]
    difference = values - middle
    # All differences are below this power of two, so their sums in steps fit the integers of a float.
    power = np.frexp(np.abs(difference).max(axis=1, keepdims=True))[1]
    step = np.ldexp(1.0, np.maximum(power - FLOAT_BITS + kept.bit_length(), LOWEST_EXPONENT))
    drawn: Floats = np.rint(difference / step) @ table
    drawn *= step / kept
    drawn += middle
    return drawn
