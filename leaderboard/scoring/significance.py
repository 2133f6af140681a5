"""How fine a board can tell: below which difference of scores nobody can say who is better."""

import math
import statistics
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from evaluator.model.sealed_fields import secret_hash
from leaderboard.core.standings import Estimate
from leaderboard.scoring.bootstrap import Array, Indices, Scoring, trimmed_mean
from leaderboard.scoring.intervals import EstimateArrays, critical_value
from leaderboard.scoring.metrics import episode_metric, episode_values, oriented_value, ranking

# Pairs are compared in blocks of this many rows, which stay in the processor's cache.
ROWS = 16


class Comparison(NamedTuple):
    """What the other entries of a board say of each, shape (entries,)."""

    better: Indices
    """How many are significantly better."""
    worse: Indices
    """How many are significantly worse."""
    with_leader: npt.NDArray[np.bool_]
    """Whether some entry with the best score is not significantly better."""


def compare_all(measured: EstimateArrays) -> Comparison:
    """Compare every two entries of a board; greater is better.

    The difference of two independent scores is told from zero where |a − b| > t · √(error_a² + error_b²), with the t of
    the smaller sample: Welch's interval (Biometrika 34, 1947) with the conservative degrees of freedom. The
    pseudo-episodes of bounded returns make it the interval of Agresti & Caffo (The American Statistician 54, 2000) for
    0/1 returns. It is not monotone in the score (an uncertain best need not beat a certain second), so each pair is
    looked at whose difference is neither above the widest margin nor below the narrowest; half of them, in order of the
    centre.
    """
    order = np.argsort(-measured.centre, kind="stable")
    centre, variance, t = measured.centre[order], measured.error[order] ** 2, critical_value(measured.size[order])
    best = measured.score[order] == measured.score.max(initial=-np.inf)
    better, worse, leaders_better = np.zeros((3, len(order)), dtype=np.intp)
    widest, narrowest = np.maximum.accumulate(variance), variance.min(initial=np.inf)
    most, least = t.max(initial=0), t.min(initial=np.inf)
    for start in range(0, len(order), ROWS):
        rows = slice(start, min(start + ROWS, len(order)))
        # A sum, a root and a product keep the order of what they are made of, roundings included.
        beyond = most * np.sqrt(variance[rows].max() + widest[rows.stop - 1])
        within = least * np.sqrt(variance[rows].min() + narrowest)
        sure = np.searchsorted(centre[start] - centre[: rows.stop], -beyond)
        last = np.searchsorted(centre[rows.stop - 1] - centre[: rows.stop], -within)
        doubted = slice(sure, max(sure, last))
        margin = np.sqrt(np.add.outer(variance[rows], variance[doubted]))
        margin *= np.maximum.outer(t[rows], t[doubted])
        beaten = np.subtract.outer(centre[rows], centre[doubted]) < -margin
        better[rows] = sure + beaten.sum(axis=1)
        worse[:sure] += rows.stop - start
        worse[doubted] += beaten.sum(axis=0)
        leaders_better[rows] = best[:sure].sum() + beaten[:, best[doubted]].sum(axis=1)
    as_given = np.argsort(order)
    return Comparison(better[as_given], worse[as_given], (leaders_better < best.sum())[as_given])


def paired(results: Sequence[Result], task: Task) -> Comparison | None:
    """Compare every two results of one task, episode by episode; None where they cannot be paired.

    They can if all have the same secret episodes, at least two, and what ranks is a mean or an interquartile mean.
    """
    metric = ranking(task)
    how = episode_metric(task, metric)
    if how is None or how.score == "median" or len({result.seeds for result in results}) != 1:
        return None
    if len(results[0].seeds) < 2 or any(result.sealed or secret_hash(result.beacon) is None for result in results):
        return None
    found = np.array([episode_values(metric, result) for result in results], dtype=np.float64)
    reach = how.bounds[1] - how.bounds[0] if how.bounds and how.score == "mean" else None
    return compare_paired(oriented_value(metric, 1) * found, how.score, reach)


def compare_paired(values: Array, scoring: Scoring, reach: float | None = None) -> Comparison:
    """Compare every two entries; greater is better.

    The difference of two trimmed means of dependent samples is told from zero by the Winsorized variance of the
    differences (Yuen, Biometrika 61, 1974; Wilcox, Introduction to Robust Estimation and Hypothesis Testing, for
    dependent groups), with n − 2g − 1 degrees of freedom; with nothing trimmed that is the paired t test. Where values
    have bounds, two pseudo-pairs are added, half of one at each corner (Agresti & Min, Statistics in Medicine 24,
    2005), so that no few equal differences are certainty.

    Args:
        values: shape (entries, episodes), the same episodes in every row, at least two.
        scoring: mean or iqm.
        reach: from the least to the greatest possible value; for means only.
    """
    count = values.shape[1]
    cut = trimmed_mean(count, scoring)
    kept = count - 2 * cut
    ordered = np.sort(values, axis=1)
    score = ordered[:, cut : count - cut].mean(axis=1)
    drawn_in = np.clip(values, ordered[:, cut, None], ordered[:, count - cut - 1, None])
    drawn_in -= drawn_in.mean(axis=1, keepdims=True)
    order = np.argsort(-score, kind="stable")
    score, drawn_in = score[order], drawn_in[order]
    squares = (drawn_in**2).sum(axis=1)
    best = score == score.max(initial=-np.inf)
    better, worse, leaders_better = np.zeros((3, len(order)), dtype=np.intp)
    for start in range(0, len(order), ROWS):
        rows, above = slice(start, start + ROWS), slice(0, start + ROWS)
        apart = np.subtract.outer(score[rows], score[above])
        spread = np.add.outer(squares[rows], squares[above]) - 2 * drawn_in[rows] @ drawn_in[above].T
        beaten = _beaten(apart, np.maximum(spread, 0), kept, reach)
        better[rows] = beaten.sum(axis=1)
        worse[above] += beaten.sum(axis=0)
        leaders_better[rows] = beaten[:, best[above]].sum(axis=1)
    as_given = np.argsort(order)
    return Comparison(better[as_given], worse[as_given], (leaders_better < best.sum())[as_given])


def _beaten(apart: Array, spread: Array, kept: int, reach: float | None) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Whether a difference is below zero for sure. `spread`: summed squares of the differences about their mean."""
    if reach is not None:
        whole = kept + 2
        spread = spread + reach**2 + apart**2 * kept * 2 / whole
        apart, kept = apart * (kept / whole), whole
    error = np.sqrt(spread / (kept * max(kept - 1, 1)))
    found: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = apart < -critical_value(np.array(float(kept))) * error
    return found


def smallest_difference(estimates: Iterable[Estimate]) -> float | None:
    """The median, over neighbours on the board, of the least difference of their scores that would be significant.

    Where two scores are independent, the margin of their difference is √(a² + b²) of their own margins (Welch's interval,
    see `leaderboard.significance`); here a and b are half the width of the 95 % intervals that the board shows, so that
    anybody can work it out again. Neighbours, since that is what readers ask about; the median, since one noisy entry says
    nothing of the rest.

    Args:
        estimates: in the order of the board.

    Returns:
        In the unit of the score; None where no two neighbours have intervals.
    """
    margins = [(one.high - one.low) / 2 for one in estimates if not math.isnan(one.low) and not math.isnan(one.high)]
    if len(margins) < 2:
        return None
    return statistics.median(math.hypot(a, b) for a, b in pairwise(margins))
