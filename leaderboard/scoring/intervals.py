"""Scores of returns, with their 95 % intervals and the standard errors that comparisons need."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from evaluator.model.config.challenge import Task
from evaluator.model.config.metric import JACKKNIFE_GROUPS, Metric
from evaluator.model.records.result import Result
from leaderboard.core.standings import Estimate
from leaderboard.scoring.bootstrap import (
    Bounds,
    Floats,
    Indices,
    ResampledScores,
    Scoring,
    by_length,
    draw_sample,
    resampled_scores,
    trimmed_mean,
)
from leaderboard.scoring.metrics import (
    MISSING,
    any_sealed,
    episode_metric,
    episode_values,
    oriented_value,
    ranking,
    single_value,
    single_value_error,
)

CONFIDENCE = 0.95
ENDS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
# Above this many degrees of freedom the expansion's relative error is below 10⁻¹² (10⁻¹³ at 97.5 %).
MANY_DEGREES = 500
# After a step this short only rounding errors are left.
QUANTILE_TOLERANCE = 1e-9


def normal_quantile(chance: float) -> float:
    """The quantile of the standard normal distribution; 1.96 for a chance of 0.975."""
    return _solve(_within_normal, 2 * chance - 1)


@functools.lru_cache(maxsize=1024)
def student_quantile(freedom: int, chance: float) -> float:
    """The quantile of Student's t (Abramowitz & Stegun, Handbook of Mathematical Functions, 1964, 26.7.3 to 26.7.5).

    Args:
        freedom: degrees of freedom, at least 1.
        chance: between 0 and 1.
    """
    if freedom > MANY_DEGREES:
        return _expanded(normal_quantile(chance), freedom)
    return math.sqrt(freedom) * math.tan(_solve(functools.partial(_within_student, freedom), 2 * chance - 1))


def _solve(within: Callable[[float], tuple[float, float]], share: float) -> float:
    """The distance from the middle within which a share lies; `within` gives the share and its derivative there."""
    distance, step = 0.0, 1.0
    while abs(step) > QUANTILE_TOLERANCE:
        reached, slope = within(distance)
        step = (share - reached) / slope
        distance += step
    return distance


def _within_normal(z: float) -> tuple[float, float]:
    return math.erf(z / math.sqrt(2)), math.sqrt(2 / math.pi) * math.exp(-z * z / 2)


def _within_student(freedom: int, angle: float) -> tuple[float, float]:
    """The probability between −t and t, where t = √freedom · tan(angle), and its derivative by the angle."""
    if freedom == 1:
        return angle * 2 / math.pi, 2 / math.pi
    sine, cosine = math.sin(angle), math.cos(angle)
    square = cosine * cosine
    is_odd = freedom % 2
    terms = [cosine if is_odd else 1.0]
    for number in range(1 + is_odd, freedom - 2, 2):
        terms.append(terms[-1] * square * number / (number + 1))
    total, slope = sine * math.fsum(terms), (freedom - 1) * terms[-1] * cosine
    return ((angle + total) * 2 / math.pi, slope * 2 / math.pi) if is_odd else (total, slope)


def _expanded(z: float, freedom: int) -> float:
    """Student's quantile from the normal one, in powers of 1 / freedom."""
    square = z * z
    orders = (
        (square + 1) / 4,
        ((5 * square + 16) * square + 3) / 96,
        (((3 * square + 19) * square + 17) * square - 15) / 384,
        ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) / 92160,
    )
    correction = 0.0
    for order in reversed(orders):
        correction = (correction + order) / freedom
    return z * (1 + correction)


class EstimateArrays(NamedTuple):
    """Estimates of many entries; every array has shape (entries,)."""

    score: Floats
    """Mean or IQM of the returns, or another metric; NaN if missing."""
    low: Floats
    """Lower end of the 95 % interval, never above the score."""
    high: Floats
    """Upper end of the 95 % interval, never below the score."""
    centre: Floats
    """The score with the pseudo-episodes, used for differences; without bounds it is the score."""
    error: Floats
    """Standard error of the centre; infinite if a single value leaves the spread unknown."""
    size: Floats
    """Number of values resampled: episodes and pseudo-episodes."""


def scores(ordered: Floats, scoring: Scoring) -> Floats:
    """The mean, interquartile mean or median of each row, exactly rounded, so that equal scores compare equal.

    Args:
        ordered: ascending values, shape (rows, values).
        scoring: which of the three. The IQM is `scipy.stats.trim_mean(row, 0.25)`, as rliable has it
            (Agarwal et al., Deep RL at the Edge of the Statistical Precipice, 2021).

    Returns:
        Shape (rows,).
    """
    size = ordered.shape[1]
    cut = trimmed_mean(size, scoring)
    kept = ordered[:, cut : size - cut]
    means = np.array([math.fsum(row) for row in kept.tolist()]) / kept.shape[1]
    # The mean of n equal numbers may differ from them by rounding.
    rounded: Floats = np.clip(means, kept[:, 0], kept[:, -1])
    return rounded


def estimates(
    returns: Sequence[Sequence[float]],
    task: ResampledScores,
    on_resamples: Callable[[Indices, Floats], None] = lambda rows, drawn: None,
) -> EstimateArrays:
    """Score every result of one task.

    Percentile bootstrap (Efron & Tibshirani 1993, chapter 13): the interval is from the 2.5th to the 97.5th percentile
    of the scores of resampled episodes. If returns have bounds, one pseudo-episode at each bound is resampled too. The
    interval is extended to the score if the pseudo-episodes move it past that.

    Args:
        returns: the returns of each result, at least one each; lengths may differ.
        task: how returns become a score, and their bounds.
        on_resamples: called with the scores of resamples as `resampled_scores` yields them.
    """
    low, high, spread = np.empty((3, len(returns)))
    for rows, drawn in resampled_scores(returns, task):
        low[rows], high[rows] = percentile_interval(drawn)
        spread[rows] = deviation(drawn)
        on_resamples(rows, drawn)
    score = _points(returns, task.score, None)
    size = sizes(returns, task)
    lowest, highest = _value_range(returns, task.bounds)
    return EstimateArrays(
        score=score,
        low=np.minimum(np.maximum(low, lowest), score),
        high=np.maximum(np.minimum(high, highest), score),
        centre=regularised_scores(returns, task),
        error=standard_error(spread, size),
        size=size,
    )


def measured_estimate(results: Sequence[Result], task: Task) -> EstimateArrays:
    """Estimates of all results of one task by the metric that ranks, in its unit."""
    metric = ranking(task)
    how = episode_metric(task, metric)
    if how and not any_sealed(results):
        return estimates([episode_values(metric, result) for result in results], how)
    score = np.array(values(results, task, metric), dtype=np.float64)
    error = np.array([single_value_error(metric, result) for result in results], dtype=np.float64)
    size = np.where(np.isfinite(error), float(JACKKNIFE_GROUPS), 1.0)
    # A single number of unknown spread has no interval.
    margin = np.where(np.isfinite(error), critical_value(size) * error, MISSING)
    return EstimateArrays(score=score, low=score - margin, high=score + margin, centre=score, error=error, size=size)


def values(results: Sequence[Result], task: Task, metric: Metric) -> list[float]:
    """The value of a metric for every result; NaN if missing."""
    how = episode_metric(task, metric)
    if how is None:
        return [single_value(task, metric, result) for result in results]
    if len(results) > 1 and any_sealed(results):
        return [value for result in results for value in values([result], task, metric)]
    if any_sealed(results):
        return [single_value(task, metric, results[0])]
    points: list[float] = _points([episode_values(metric, result) for result in results], how.score, None).tolist()
    return points


def oriented(measured: EstimateArrays, metric: Metric) -> EstimateArrays:
    """The estimates with signs changed if lower is better, so that greater is better."""
    if oriented_value(metric, 1) > 0:
        return measured
    return measured._replace(score=-measured.score, low=-measured.high, high=-measured.low, centre=-measured.centre)


def critical_value(size: Floats) -> Floats:
    """Student's t at 97.5 % with `size` − 1 degrees of freedom; 1.98 for a size of 100."""
    distinct, positions = np.unique(np.maximum(size - 1, 1), return_inverse=True)
    quantiles = np.array([student_quantile(int(freedom), ENDS[1]) for freedom in distinct.tolist()])
    return quantiles[positions.reshape(np.shape(size))]


def intervals(measured: EstimateArrays) -> list[Estimate]:
    """The score and interval of each entry."""
    columns = zip(measured.score.tolist(), measured.low.tolist(), measured.high.tolist(), strict=True)
    return [Estimate(score=score, low=low, high=high) for score, low, high in columns]


def sizes(returns: Sequence[Sequence[float]], task: ResampledScores) -> Floats:
    """The number of values resampled for each result, pseudo-episodes included, shape (results,)."""
    return np.array([len(values) for values in returns], dtype=np.float64) + (2 if task.bounds else 0)


def regularised_scores(returns: Sequence[Sequence[float]], task: ResampledScores) -> Floats:
    """The score of each result with its pseudo-episodes, shape (results,)."""
    return _points(returns, task.score, task.bounds)


def percentile_interval(drawn: Floats) -> Floats:
    """The 2.5th and the 97.5th percentile of each row, shape (2, rows); bit for bit those of `np.quantile`.

    One partition for each percentile is faster than `np.quantile`, which partitions at all positions at once.
    """
    return np.array([_percentile(drawn, share * (drawn.shape[1] - 1)) for share in ENDS])


def _percentile(drawn: Floats, position: float) -> Floats:
    """The value at a position of each sorted row, interpolated linearly between two values."""
    below = int(position)
    above, share = min(below + 1, drawn.shape[1] - 1), position - below
    parted = np.partition(drawn, above, axis=1)
    first, last = parted[:, : below + 1].max(axis=1), parted[:, above]
    value: Floats = first + (last - first) * share if share < 0.5 else last - (last - first) * (1 - share)
    return value


def _value_range(returns: Sequence[Sequence[float]], bounds: Bounds) -> tuple[Floats, Floats]:
    """The lowest and the highest value that a resample of each result can contain."""
    lowest, highest = bounds or (np.inf, -np.inf)
    return np.minimum([min(values) for values in returns], lowest), np.maximum([max(values) for values in returns], highest)


def deviation(drawn: Floats) -> Floats:
    """The standard deviation of each row, shape (rows,); exactly 0 if all values are equal."""
    deviations: Floats = (drawn - drawn[:, :1]).std(axis=1)
    return deviations


def standard_error(spread: Floats, size: Floats) -> Floats:
    """The standard error from the standard deviation of resampled scores.

    A bootstrap divides by n where an unbiased variance divides by n − 1; this corrects it. One value has no spread, which
    does not make it certain: its error is infinite.

    Args:
        spread: standard deviations, shape (entries,).
        size: the number of values resampled, shape (entries,).
    """
    corrected = spread / np.sqrt(1 - 1 / np.maximum(size, 2))
    return np.where(size > 1, corrected, np.inf)


def _points(returns: Sequence[Sequence[float]], scoring: Scoring, bounds: Bounds) -> Floats:
    points = np.empty(len(returns))
    for chosen in by_length(returns):
        points[chosen] = scores(draw_sample([returns[i] for i in chosen], bounds), scoring)
    return points
