"""The bootstrap: scores of resampled episodes, as one matrix product, the same on every board and every processor.

A resample of n sorted values is a row of counts, and its mean is counts · values / n. The trimmed mean of a resample is
also linear in the sorted values: a value counts as often as its copies fall into the ranks that are kept. So all
resamples of all results are `values @ counts`, for the mean and for the IQM alike (Efron & Tibshirani, An Introduction
to the Bootstrap, 1993, chapter 20: the resampling vector).

Sums of floats hang on the order in which they are added, which every processor's library chooses for itself. Here the
values are whole multiples of a step, so small that no figure shows it, and so large that each sum fits a float: it has
no rounding, and every order gives the same.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Literal, Protocol, assert_never

import numpy as np
import numpy.typing as npt

from evaluator.model import canonical_json

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Scoring = Literal["mean", "iqm", "median"]
Bounds = tuple[float, float] | None


class ResampledScores(Protocol):
    """What says how the values of episodes become a score: a task for its returns, a yardstick for another metric."""

    @property
    def id(self) -> str:
        """The task's id, which the resamples are a function of."""

    @property
    def score(self) -> Scoring:
        """Mean, interquartile mean or median."""

    @property
    def bounds(self) -> Bounds:
        """The least and the greatest possible value of an episode."""


RESAMPLES = 2000
# Results of one product: half a megabyte of scores, which stay in a processor's cache for what is made of them.
ROWS = 32
# Resamples drawn at once, since what they are made of takes several times their memory.
SLAB = 40
# Bits of a float's whole numbers.
BITS = 53
# Steps are powers of two; below that one a float loses digits.
_LEAST = -1000
# Cut from each end for the interquartile mean.
QUARTER = 0.25


def random_stream(*content: str | int) -> np.random.Generator:
    """A random generator that is a function of `content` alone (SHA-256 over its canonical JSON)."""
    return np.random.Generator(np.random.PCG64(int(canonical_json.digest(list(content)), 16)))


def trimmed_mean(size: int, scoring: Scoring) -> int:
    """How many of `size` sorted values are cut from each end; for the IQM by the rule of `scipy.stats.trim_mean`."""
    match scoring:
        case "mean":
            return 0
        case "iqm":
            return int(QUARTER * size)
        case "median":
            # What is left is the one value in the middle, or the two of them.
            return (size - 1) // 2
        case _:
            assert_never(scoring)


def by_length(returns: Sequence[Sequence[float]]) -> Iterator[Indices]:
    """The indices of results with equally many episodes, one array for each length."""
    lengths = np.array([len(one) for one in returns], dtype=np.intp)
    for length in sorted(set(lengths.tolist())):
        yield np.flatnonzero(lengths == length)


def draw_sample(returns: Sequence[Sequence[float]], bounds: Bounds) -> Array:
    """What is resampled: the returns, with one pseudo-episode at each bound where there are bounds.

    Args:
        returns: of equally many episodes each.
        bounds: the least and the greatest possible return.

    Returns:
        Ascending values, shape (results, episodes) or (results, episodes + 2).
    """
    values = np.concatenate(returns, dtype=np.float64).reshape(len(returns), -1)
    if bounds:
        values = np.hstack([values, np.tile(np.array(bounds, dtype=np.float64), (len(values), 1))])
    return np.sort(values, axis=1)


@functools.lru_cache(maxsize=64)
def _table(task_id: str, size: int, scoring: Scoring) -> Array:
    """The same for every board: drawn once for all entries of a task."""
    return draw_counts(size, scoring, random_stream("pullrank-bootstrap-1", task_id, size))


def draw_counts(size: int, scoring: Scoring, random: np.random.Generator) -> Array:
    """How often each of `size` sorted values counts in the score of each resample.

    Returns:
        Shape (size, RESAMPLES); those of a resample add up to as many values as are kept.
    """
    cut = trimmed_mean(size, scoring)
    table = np.empty((size, RESAMPLES))
    for begin in range(0, RESAMPLES, SLAB):
        copies = random.multinomial(size, np.full(size, 1 / size), size=SLAB)
        table[:, begin : begin + SLAB] = (_kept(copies, cut) if cut else copies).T
    return table


def _kept(copies: npt.NDArray[np.int64], cut: int) -> npt.NDArray[np.int64]:
    """How many copies of each value are left when so many of the least and of the greatest are cut from each resample."""
    up_to = np.clip(np.cumsum(copies, axis=1), cut, copies.shape[1] - cut)
    return np.diff(up_to, axis=1, prepend=cut).astype(np.int64, copy=False)


def resampled_scores(returns: Sequence[Sequence[float]], task: ResampledScores) -> Iterator[tuple[Indices, Array]]:
    """Scores of resampled episodes, a few results at a time; lengths may differ.

    The randomness is a function of the task's id and the number of values: a result has the same resamples on every
    board, and results with the same returns in any order have the same scores.

    Args:
        returns: the returns of each result.
        task: says how returns become a score, and what bounds they have.

    Yields:
        Indices into `returns`, shape (rows,), and the scores of their resamples, shape (rows, RESAMPLES).
    """
    for chosen in by_length(returns):
        values = draw_sample([returns[i] for i in chosen], task.bounds)
        size = values.shape[1]
        table, kept = _table(task.id, size, task.score), size - 2 * trimmed_mean(size, task.score)
        for start in range(0, len(chosen), ROWS):
            yield chosen[start : start + ROWS], _means(values[start : start + ROWS], table, kept)


def _means(values: Array, table: Array, kept: int) -> Array:
    """`values @ table / kept`, of values in steps from the middle one: constant returns stay constant to the last bit."""
    middle = values[:, values.shape[1] // 2, np.newaxis]
    apart = values - middle
    # All of them are less than this power of two, and so many steps of it add up to no more than a float's whole numbers.
    power = np.frexp(np.abs(apart).max(axis=1, keepdims=True))[1]
    step = np.ldexp(1.0, np.maximum(power - BITS + kept.bit_length(), _LEAST))
    drawn: Array = np.rint(apart / step) @ table
    drawn *= step / kept
    drawn += middle
    return drawn
