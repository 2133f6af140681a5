"""Who is better than whom: every pair of a board, by the 95 % interval of the difference of their scores."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leaderboard.estimate import Estimates, critical
from leaderboard.resampling import Indices

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


def compare(measured: Estimates) -> Comparison:
    """Compare every two entries of a board; greater is better.

    The difference of two independent scores is told from zero where |a − b| > t · √(error_a² + error_b²), with the t of
    the smaller sample: Welch's interval (Biometrika 34, 1947) with the conservative degrees of freedom. The
    pseudo-episodes of bounded returns make it the interval of Agresti & Caffo (The American Statistician 54, 2000) for
    0/1 returns. It is not monotone in the score (an uncertain best need not beat a certain second), so each pair is
    looked at whose difference is neither above the widest margin nor below the narrowest; half of them, in order of the
    centre.
    """
    order = np.argsort(-measured.centre, kind="stable")
    centre, variance, t = measured.centre[order], measured.error[order] ** 2, critical(measured.size[order])
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
