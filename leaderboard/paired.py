"""Who is better than whom where all played the same episodes: the luck of an episode is everybody's, so differences count.

Used for sealed seasons once they are revealed. Until then nobody knows the episodes; in open seasons everybody has
others, and `significance` compares independent scores.
"""

from collections.abc import Sequence

import numpy as np

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from evaluator.model.sealed_fields import secret_hash
from leaderboard.estimate import critical
from leaderboard.metrics import episode_values, ranking, worth, yardstick
from leaderboard.resampling import Array, Scoring, trimmed
from leaderboard.significance import ROWS, Comparison


def paired(results: Sequence[Result], task: Task) -> Comparison | None:
    """Compare every two results of one task, episode by episode; None where they cannot be paired.

    They can if all have the same secret episodes, at least two, and what ranks is a mean or an interquartile mean.
    """
    metric = ranking(task)
    how = yardstick(task, metric)
    if how is None or how.score == "median" or len({result.seeds for result in results}) != 1:
        return None
    if len(results[0].seeds) < 2 or any(result.sealed or secret_hash(result.beacon) is None for result in results):
        return None
    found = np.array([episode_values(metric, result) for result in results], dtype=np.float64)
    reach = how.bounds[1] - how.bounds[0] if how.bounds and how.score == "mean" else None
    return compare_paired(worth(metric, 1) * found, how.score, reach)


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
    cut = trimmed(count, scoring)
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
    found: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = apart < -critical(np.array(float(kept))) * error
    return found
