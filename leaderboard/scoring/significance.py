"""Which entries are significantly better than which, and the smallest difference that a leaderboard can tell."""

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
from leaderboard.scoring.bootstrap import Floats, Indices, Scoring, trimmed_mean
from leaderboard.scoring.intervals import EstimateArrays, critical_value
from leaderboard.scoring.metrics import episode_metric, episode_values, oriented_value, ranking

# Entries are compared in blocks of this many rows, which stay in the processor's cache.
ENTRIES_AT_ONCE = 16


class Comparison(NamedTuple):
    """Each entry compared with all others, shape (entries,)."""

    better: Indices
    """How many others are significantly better."""
    worse: Indices
    """How many others are significantly worse."""
    with_leader: npt.NDArray[np.bool_]
    """Whether some entry with the best score is not significantly better."""


def compare_all(measured: EstimateArrays) -> Comparison:
    """Compare every two entries; greater is better.

    The difference of two independent scores is significant if |a − b| > t · √(error_a² + error_b²), with the t of the
    smaller sample: Welch's interval (Biometrika 34, 1947) with conservative degrees of freedom. With the pseudo-episodes
    of bounded returns it is the interval of Agresti & Caffo (The American Statistician 54, 2000) for 0/1 returns. It is
    not monotone in the score: an uncertain best entry need not beat a certain second. So every pair is compared whose
    difference is neither above the widest margin nor below the narrowest, each pair once, in order of the centre.
    """
    order = np.argsort(-measured.centre, kind="stable")
    centre, variance, t = measured.centre[order], measured.error[order] ** 2, critical_value(measured.size[order])
    best = measured.score[order] == measured.score.max(initial=-np.inf)
    better, worse, leaders_better = np.zeros((3, len(order)), dtype=np.intp)
    widest, narrowest = np.maximum.accumulate(variance), variance.min(initial=np.inf)
    most, least = t.max(initial=0), t.min(initial=np.inf)
    for start in range(0, len(order), ENTRIES_AT_ONCE):
        rows = slice(start, min(start + ENTRIES_AT_ONCE, len(order)))
        # Sums, roots and products of floats keep the order of their operands, rounding included.
        widest_margin = most * np.sqrt(variance[rows].max() + widest[rows.stop - 1])
        narrowest_margin = least * np.sqrt(variance[rows].min() + narrowest)
        certain = np.searchsorted(centre[start] - centre[: rows.stop], -widest_margin)
        last = np.searchsorted(centre[rows.stop - 1] - centre[: rows.stop], -narrowest_margin)
        doubtful = slice(certain, max(certain, last))
        margin = np.sqrt(np.add.outer(variance[rows], variance[doubtful]))
        margin *= np.maximum.outer(t[rows], t[doubtful])
        beaten = np.subtract.outer(centre[rows], centre[doubtful]) < -margin
        better[rows] = certain + beaten.sum(axis=1)
        worse[:certain] += rows.stop - start
        worse[doubtful] += beaten.sum(axis=0)
        leaders_better[rows] = best[:certain].sum() + beaten[:, best[doubtful]].sum(axis=1)
    as_given = np.argsort(order)
    return Comparison(better[as_given], worse[as_given], (leaders_better < best.sum())[as_given])


def paired(results: Sequence[Result], task: Task) -> Comparison | None:
    """Compare every two results of one task, episode by episode; None if they cannot be paired.

    They can if all have the same secret episodes, at least two, and a mean or an interquartile mean ranks.
    """
    metric = ranking(task)
    how = episode_metric(task, metric)
    if how is None or how.score == "median" or len({result.seeds for result in results}) != 1:
        return None
    if len(results[0].seeds) < 2 or any(result.sealed or secret_hash(result.beacon) is None for result in results):
        return None
    episodes = np.array([episode_values(metric, result) for result in results], dtype=np.float64)
    value_range = how.bounds[1] - how.bounds[0] if how.bounds and how.score == "mean" else None
    return compare_paired(oriented_value(metric, 1) * episodes, how.score, value_range)


def compare_paired(values: Floats, scoring: Scoring, value_range: float | None = None) -> Comparison:
    """Compare every two entries; greater is better.

    Two trimmed means of dependent samples are compared by the Winsorized variance of the differences (Yuen, Biometrika
    61, 1974; Wilcox, Introduction to Robust Estimation and Hypothesis Testing, for dependent groups), with n − 2g − 1
    degrees of freedom; with nothing trimmed that is the paired t test. If values have bounds, two pseudo-pairs are added,
    half of one at each corner (Agresti & Min, Statistics in Medicine 24, 2005), so that a few equal differences are not
    taken for certainty.

    Args:
        values: shape (entries, episodes), the same episodes in every row, at least two.
        scoring: mean or iqm.
        value_range: the highest less the lowest possible value; for means only.
    """
    count = values.shape[1]
    cut = trimmed_mean(count, scoring)
    kept = count - 2 * cut
    ordered = np.sort(values, axis=1)
    score = ordered[:, cut : count - cut].mean(axis=1)
    winsorized = np.clip(values, ordered[:, cut, None], ordered[:, count - cut - 1, None])
    winsorized -= winsorized.mean(axis=1, keepdims=True)
    order = np.argsort(-score, kind="stable")
    score, winsorized = score[order], winsorized[order]
    squares = (winsorized**2).sum(axis=1)
    best = score == score.max(initial=-np.inf)
    better, worse, leaders_better = np.zeros((3, len(order)), dtype=np.intp)
    for start in range(0, len(order), ENTRIES_AT_ONCE):
        rows, above = slice(start, start + ENTRIES_AT_ONCE), slice(0, start + ENTRIES_AT_ONCE)
        apart = np.subtract.outer(score[rows], score[above])
        spread = np.add.outer(squares[rows], squares[above]) - 2 * winsorized[rows] @ winsorized[above].T
        beaten = _beaten(apart, np.maximum(spread, 0), kept, value_range)
        better[rows] = beaten.sum(axis=1)
        worse[above] += beaten.sum(axis=0)
        leaders_better[rows] = beaten[:, best[above]].sum(axis=1)
    as_given = np.argsort(order)
    return Comparison(better[as_given], worse[as_given], (leaders_better < best.sum())[as_given])


def _beaten(apart: Floats, spread: Floats, kept: int, value_range: float | None) -> npt.NDArray[np.bool_]:
    """Whether a difference is significantly below zero. `spread`: squared deviations of the differences, summed."""
    if value_range is not None:
        total = kept + 2
        spread = spread + value_range**2 + apart**2 * kept * 2 / total
        apart, kept = apart * (kept / total), total
    error = np.sqrt(spread / (kept * max(kept - 1, 1)))
    beaten: npt.NDArray[np.bool_] = apart < -critical_value(np.array(float(kept))) * error
    return beaten


def smallest_difference(estimates: Iterable[Estimate]) -> float | None:
    """The smallest significant difference between neighbours on the leaderboard, as a median over them.

    The margin of the difference of two independent scores is √(a² + b²) of their margins (Welch's interval, as in
    `compare_all`). Here a and b are half the widths of the 95 % intervals shown, so that readers can check it. The median
    keeps one noisy entry from deciding.

    Args:
        estimates: in the order of the leaderboard.

    Returns:
        In the unit of the score; None if there are fewer than two intervals.
    """
    complete = (estimate for estimate in estimates if not math.isnan(estimate.low) and not math.isnan(estimate.high))
    margins = [(estimate.high - estimate.low) / 2 for estimate in complete]
    if len(margins) < 2:
        return None
    return statistics.median(math.hypot(a, b) for a, b in pairwise(margins))
