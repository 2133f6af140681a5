"""Scores of returns, with their 95 % intervals and the standard errors that comparisons need."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from evaluator.model.config.metric import JACKKNIFE_GROUPS, Metric
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.arrays import Floats
from leaderboard.core.entry import CONFIDENCE, Estimate
from leaderboard.scoring.bootstrap import (
    Scoring,
    ScoringRule,
    by_length,
    resampled_scores,
    sorted_values,
    trim_count,
)
from leaderboard.scoring.metrics import (
    MISSING,
    EpisodeMetric,
    any_sealed,
    episode_metric,
    episode_values,
    is_missing,
    oriented_value,
    ranking_metric,
    single_value,
    single_value_error,
    value_or_none,
)

PooledResults = tuple[Result, ...]
"""One version's results on a task whose episodes are pooled, one for each draw of seeds, oldest first; at least one."""
INTERVAL_QUANTILES = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
TAIL = INTERVAL_QUANTILES[0]
# Below this many values that are all equal the spread is unknown: of ten, a quarter of all episodes may differ (at 95 %).
MIN_EQUAL_VALUES = 10
# Raised values are chosen for families of so many comparisons; at 100 values, the critical values are at most a fifth apart.
FAMILIES = np.array([1, 3, 12, 60, 600, 20_000])
# Above this many degrees of freedom the expansion's relative error is below 10⁻¹² (10⁻¹³ at 97.5 %).
MANY_DEGREES = 500
# After a step this short only rounding errors are left. They differ between processors, so quantiles are rounded.
QUANTILE_TOLERANCE = 1e-9
QUANTILE_DECIMALS = 11


def normal_quantile(chance: float) -> float:
    """The quantile of the standard normal distribution; 1.96 for a chance of 0.975."""
    return float(normal_quantiles(np.array([chance]))[0])


def normal_quantiles(chances: Floats) -> Floats:
    """The quantiles of the standard normal distribution, of any shape."""
    return np.round(_solve(_within_normal, 2 * chances - 1), QUANTILE_DECIMALS)


@functools.lru_cache(maxsize=1024)
def student_quantile(freedom: int, chance: float) -> float:
    """One of `student_quantiles`."""
    return float(student_quantiles(freedom, np.array([chance]))[0])


def student_quantiles(freedom: int, chances: Floats) -> Floats:
    """The quantiles of Student's t (Abramowitz & Stegun, Handbook of Mathematical Functions, 1964, 26.7.3 to 26.7.5).

    Args:
        freedom: degrees of freedom, at least 1.
        chances: between 0 and 1, of any shape.
    """
    if freedom > MANY_DEGREES:
        return np.round(_expanded(normal_quantiles(chances), freedom), QUANTILE_DECIMALS)
    angles = _solve(functools.partial(_within_student, freedom), 2 * chances - 1)
    return np.round(math.sqrt(freedom) * np.tan(angles), QUANTILE_DECIMALS)


def _solve(within: Callable[[Floats], tuple[Floats, Floats]], shares: Floats) -> Floats:
    """The distances from the middle within which the shares lie; `within` gives shares and their derivatives.

    Newton's method from the middle: the share is a concave function of the distance, so no step goes too far, and one that
    goes back is a rounding error. Far out these are larger than the tolerance, and would be made for ever.
    """
    distance, step = np.zeros_like(shares), np.ones_like(shares)
    while step.max(initial=0) > QUANTILE_TOLERANCE:
        reached, slope = within(distance)
        step = np.maximum((np.abs(shares) - reached) / slope, 0)
        distance = distance + step
    return np.copysign(distance, shares)


def _within_normal(z: Floats) -> tuple[Floats, Floats]:
    within = np.array([math.erf(one) for one in (z / math.sqrt(2)).ravel().tolist()]).reshape(z.shape)
    return within, math.sqrt(2 / math.pi) * np.exp(-z * z / 2)


def _within_student(freedom: int, angle: Floats) -> tuple[Floats, Floats]:
    """The probability between −t and t, where t = √freedom · tan(angle), and its derivative by the angle."""
    if freedom == 1:
        return angle * 2 / math.pi, np.full_like(angle, 2 / math.pi)
    sine, cosine = np.sin(angle), np.cos(angle)
    square = cosine * cosine
    is_odd = freedom % 2
    term: Floats = cosine if is_odd else np.ones_like(angle)
    total = term
    for number in range(1 + is_odd, freedom - 2, 2):
        term = term * square * number / (number + 1)
        total = total + term
    within, slope = sine * total, (freedom - 1) * term * cosine
    return ((angle + within) * 2 / math.pi, slope * 2 / math.pi) if is_odd else (within, slope)


def _expanded(z: Floats, freedom: int) -> Floats:
    """Student's quantiles from the normal ones, in powers of 1 / freedom."""
    square = z * z
    orders = (
        (square + 1) / 4,
        ((5 * square + 16) * square + 3) / 96,
        (((3 * square + 19) * square + 17) * square - 15) / 384,
        ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) / 92160,
    )
    correction = np.zeros_like(z)
    for order in reversed(orders):
        correction = (correction + order) / freedom
    return z * (1 + correction)


class EstimateArrays(NamedTuple):
    """Estimates of many entries; every array has shape (entries,)."""

    score: Floats
    """Mean or IQM of the returns, or another metric; NaN if missing."""
    low: Floats
    """Lower end of the interval, never above the score."""
    high: Floats
    """Upper end of the interval, never below the score."""
    centre: Floats
    """The score with the pseudo-episodes, used for differences; without bounds it is the score."""
    error: Floats
    """Standard error of the centre; infinite if the spread is unknown."""
    size: Floats
    """Degrees of freedom of the error, plus one."""
    tries: Floats
    """Versions and draws that the entry was chosen from: `significance_level` is the level of its intervals and tests."""
    without_tails: Floats
    """Centre and error without very low values, then without very high ones; (entries, 2 sides, ways, `FAMILIES`, 2).

    Up to three quarters of a mean's values are raised to the next one. There are two ways for other scores: of an
    interquartile mean half of the values are raised, of a median the error is that of the resamples above it; then it is the
    mean with half to three quarters raised. For what is no score over episodes there is one, the centre and the error.
    """


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
    cut = trim_count(size, scoring)
    kept = ordered[:, cut : size - cut]
    means = row_sums(kept) / kept.shape[1]
    # The mean of n equal numbers may differ from them by rounding.
    rounded: Floats = np.clip(means, kept[:, 0], kept[:, -1])
    return rounded


def estimates(returns: Sequence[Sequence[float]], task: ScoringRule, tries: Sequence[int] | None = None) -> EstimateArrays:
    """Score every entry of one task, with its interval at 95 %, or higher after several tries (`significance_level`).

    The interval of a mean is Student's, and longer on the side of the longer tail: there it reaches
    t + γ (1 + 2 t²) / (6 √n) standard errors, with γ the sample's skewness. The second term is that of the Edgeworth
    expansion of the studentized mean (Johnson, JASA 73, 1978; Hall, The Bootstrap and Edgeworth Expansion, 1992, 3.4).
    It may double the side, and never shortens the other one. An interquartile mean has the interval of Tukey & McLaughlin
    (Sankhya A 25, 1963), from the Winsorized variance; a median has the standard deviation of its bootstrap.

    If returns have bounds, one pseudo-episode at each bound is added; the interval is extended to the score if that
    moves it past the score.

    Args:
        returns: the returns of each entry, at least one each; lengths may differ.
        task: how returns become a score, and their bounds.
        tries: how many versions and draws each entry was chosen from; 1 if left out.
    """
    numbers = np.empty((len(EstimateArrays._fields) - 1, len(returns)))
    ways = 1 if task.score == "mean" else 2
    columns = EstimateArrays(*[*numbers, np.empty((len(returns), 2, ways, len(FAMILIES), 2))])
    columns.tries[:] = 1 if tries is None else tries
    for rows in by_length(returns):
        sample = sorted_values([returns[row] for row in rows], task.bounds)
        centre = scores(sample, task.score)
        medians = _median_errors(sample, task, centre) if task.score == "median" else None
        error, size, skewness = _spread(sample, task, centre, medians)
        margin = critical_value(size, columns.tries[rows])
        longer = np.clip(skewness * (1 + 2 * margin**2) / (6 * math.sqrt(sample.shape[1])), -margin, margin)
        reach = np.where(np.isfinite(error), error, MISSING)
        columns.low[rows] = centre - (margin + np.maximum(-longer, 0)) * reach
        columns.high[rows] = centre + (margin + np.maximum(longer, 0)) * reach
        columns.centre[rows], columns.error[rows], columns.size[rows] = centre, error, size
        columns.without_tails[rows] = _without_tails(sample, task, centre, error, medians)
    columns.score[:] = _points(returns, task.score) if task.bounds else columns.centre
    lowest, highest = task.bounds or (-np.inf, np.inf)
    columns.low[:] = np.minimum(np.maximum(columns.low, lowest), columns.score)
    columns.high[:] = np.maximum(np.minimum(columns.high, highest), columns.score)
    return columns


class _MedianErrors(NamedTuple):
    """Standard errors of medians by their bootstrap, shape (entries,)."""

    error: Floats
    mirrored_above: Floats
    """If the resamples spread as far below the median as they do above it."""
    mirrored_below: Floats
    """If they spread as far above it as they do below."""


def _median_errors(sample: Floats, task: ScoringRule, centre: Floats) -> _MedianErrors:
    errors = _MedianErrors(*np.empty((3, len(sample))))
    # A bootstrap divides by n where an unbiased variance divides by n − 1; this corrects it.
    share = 1 - 1 / max(sample.shape[1], 2)
    for rows, drawn in resampled_scores(sample.tolist(), EpisodeMetric(id=task.id, score="median", bounds=None)):
        apart = drawn - centre[rows, None]
        errors.error[rows] = deviation(drawn) / math.sqrt(share)
        errors.mirrored_above[rows] = np.sqrt(2 * (np.maximum(apart, 0) ** 2).mean(axis=1) / share)
        errors.mirrored_below[rows] = np.sqrt(2 * (np.minimum(apart, 0) ** 2).mean(axis=1) / share)
    return errors


def _spread(
    sample: Floats, task: ScoringRule, centre: Floats, medians: _MedianErrors | None
) -> tuple[Floats, Floats, Floats]:
    """The standard error of each row's score, its degrees of freedom plus one, and the skewness, 0 unless it is a mean.

    Values that are all equal do not make a few episodes certain: below `MIN_EQUAL_VALUES` of them the error is infinite. An
    interquartile mean cuts the pseudo-episodes off, so they are none of these values.

    Args:
        sample: ascending values, shape (rows, values).
        task: how they become a score.
        centre: the scores.
        medians: the errors, if medians rank.
    """
    count, cut = sample.shape[1], 0 if task.score == "median" else trim_count(sample.shape[1], task.score)
    size = count - 2 * cut
    winsorized = np.clip(sample, sample[:, cut, None], sample[:, count - cut - 1, None])
    # Of a mean nothing is cut, so its scores are these means.
    deviations = winsorized - (centre if task.score == "mean" else scores(winsorized, "mean"))[:, None]
    squares = row_sums(deviations * deviations)
    error, skewness = np.sqrt(squares / max(size * (size - 1), 1)), np.zeros(len(sample))
    if medians:
        error = medians.error
    elif task.score == "mean" and count > 2:
        bias = math.sqrt(count * (count - 1)) / (count - 2)
        variance = np.where(squares > 0, squares / count, 1)
        cubes, scale = bias * row_sums(deviations * deviations * deviations) / count, variance * np.sqrt(variance)
        skewness = np.divide(cubes, scale, out=np.zeros_like(cubes), where=scale > 0)  # a cube may underflow
    episodes = count - 2 if task.bounds else count
    is_unknown = (size < 2) | ((squares == 0) & (episodes < MIN_EQUAL_VALUES))
    return np.where(is_unknown, np.inf, error), np.full(len(sample), float(size)), skewness


def _without_tails(
    sample: Floats, task: ScoringRule, centre: Floats, error: Floats, medians: _MedianErrors | None
) -> Floats:
    """See `EstimateArrays`; `sample` is ascending."""
    sides = []
    for sign, values in ((1, sample), (-1, -sample[:, ::-1])):
        ways = [[(tail.score, tail.error) for tail in way] for way in raised_tails(values, task.score, len(FAMILIES))]
        if medians:
            mirrored = medians.mirrored_above if sign > 0 else medians.mirrored_below
            ways.insert(0, [(sign * centre, mirrored)] * len(FAMILIES))
        sides.append(np.array(ways) * np.array([[sign], [1]]))
    without_tails = np.moveaxis(np.array(sides), -1, 0)
    without_tails[~np.isfinite(error), ..., 1] = np.inf
    return without_tails


class RaisedTail(NamedTuple):
    """Values of which the lowest are raised to the next one; each array has shape (rows,)."""

    cut: int
    """How many are trimmed from each end."""
    lowest: Floats
    """To what they are raised."""
    score: Floats
    """Their trimmed mean."""
    squares: Floats
    """The sum of squares of their Winsorized deviations."""
    error: Floats
    """The standard error of the score."""


def raised_tails(sample: Floats, scoring: Scoring, families: int) -> list[list[RaisedTail]]:
    """Each way of `EstimateArrays.without_tails` for the first `FAMILIES`; of a median only the means.

    How many are raised is chosen for each row: for each family as many as make the score's upper limit lowest. So whoever is
    behind at that level with any number of them raised is behind with this one.

    Args:
        sample: ascending values, shape (rows, values).
        scoring: how values become a score.
        families: how many.
    """
    count = sample.shape[1]
    half, most, cut = count // 2, 3 * count // 4, 0 if scoring == "median" else trim_count(count, scoring)
    errors = student_quantiles(max(count - 2 * cut - 1, 1), 1 - TAIL / FAMILIES[:families])
    if scoring == "mean":
        return [_least_plausible(sample, 0, range(most + 1), errors)]
    means = _least_plausible(sample, 0, range(half, most + 1), errors)
    return [means] if scoring == "median" else [_least_plausible(sample, cut, range(cut, half + 1), errors), means]


def compared_families(pairs: int, tries: Floats) -> int:
    """How many `FAMILIES` matter among so many differences of entries with such tries."""
    level = significance_level(tries).min(initial=TAIL)
    return 1 + min(int(np.searchsorted(FAMILIES, pairs * TAIL / level)), len(FAMILIES) - 1)


def _least_plausible(sample: Floats, cut: int, numbers: range, errors: Floats) -> list[RaisedTail]:
    """For each of `errors`: each row with as many values raised, of `numbers`, as make mean + errors * error lowest."""
    count = sample.shape[1]
    size, chosen = count - 2 * cut, np.array(numbers)
    greatest = sample[:, count - cut - 1, None]
    # Sums of what values are below the greatest one lose no digits, however low the lowest ones are.
    below = np.minimum(sample - greatest, 0)
    least = below[:, chosen]
    sums, squares = (np.cumsum(powers[:, ::-1], axis=1)[:, ::-1][:, chosen] for powers in (below, below * below))
    score = greatest + (sums + (chosen - cut) * least) / size
    around_mean = squares + chosen * least**2 - (sums + chosen * least) ** 2 / count
    # What is raised to the median no longer shows how uncertain that is: as if values spread as far below it as above.
    mirrored = 2 * (squares - 2 * least * sums + (count - chosen) * least**2)
    squares = np.maximum(np.where(chosen < count // 2, around_mean, mirrored), 0)
    error = np.sqrt(squares / max(size * (size - 1), 1))
    tails = []
    for margin in errors.tolist():
        best = (score + margin * error).argmin(axis=1)[:, None]
        columns = (np.take_along_axis(each, best, axis=1)[:, 0] for each in (sample[:, chosen], score, squares, error))
        tails.append(RaisedTail(cut, *columns))
    return tails


def without_any_tails(centre: Floats, error: Floats) -> Floats:
    """`EstimateArrays.without_tails` of scores that have none."""
    return np.tile(np.stack([centre, error], axis=1)[:, None, None, None], (1, 2, 1, len(FAMILIES), 1))


def row_sums(values: Floats) -> Floats:
    """The sum of each row, exactly rounded."""
    return np.array([math.fsum(row) for row in values.tolist()])


def measured_estimate(results: Sequence[Result], task: Task) -> EstimateArrays:
    """Estimates of all results of one task, each an entry of its own, by the metric that ranks, in its unit."""
    return pooled_estimate([(result,) for result in results], task, [1] * len(results))


def pooled_estimate(pooled: Sequence[PooledResults], task: Task, tries: Sequence[int]) -> EstimateArrays:
    """Estimates of entries whose results are pooled, by the metric that ranks, in its unit."""
    metric = ranking_metric(task)
    how = episode_metric(task, metric)
    if how and not any_sealed(result for each in pooled for result in each):
        return estimates([pooled_episodes(task, metric, each) for each in pooled], how, tries)
    score = np.array(pooled_values(pooled, task, metric), dtype=np.float64)
    error = np.array([_single_error(metric, each) for each in pooled], dtype=np.float64)
    size = np.where(np.isfinite(error), float(JACKKNIFE_GROUPS), 1.0)
    among = np.array(tries, dtype=np.float64)
    # A single number of unknown spread has no interval.
    margin = np.where(np.isfinite(error), critical_value(size, among) * error, MISSING)
    return EstimateArrays(
        score, score - margin, score + margin, centre=score, error=error, size=size, tries=among,
        without_tails=without_any_tails(score, error),
    )  # fmt: skip


def _single_error(metric: Metric, pooled: PooledResults) -> float:
    """The standard error of the mean of the results' single numbers."""
    return math.hypot(*(single_value_error(metric, result) for result in pooled)) / len(pooled)


def result_value(result: Result, task: Task, metric: Metric) -> float:
    """The value of a metric for a result by itself; NaN if missing."""
    return pooled_values([(result,)], task, metric)[0]


def score_or_none(task: Task, result: Result) -> float | None:
    """The score of a result by itself, by the metric that ranks; None if it failed, or if the value is missing."""
    return value_or_none(result_value(result, task, ranking_metric(task))) if result.verdict is Verdict.OK else None


def pooled_values(pooled: Sequence[PooledResults], task: Task, metric: Metric) -> list[float]:
    """The value of a metric for every entry, from the episodes of all its results; NaN if missing.

    A metric that is a single number is the mean of the results' numbers.
    """
    how = episode_metric(task, metric)
    is_single = [how is None or any_sealed(each) for each in pooled]
    if how is None or any(is_single):
        return [
            math.fsum(single_value(task, metric, result) for result in each) / len(each)
            if how is None or single
            else pooled_values([each], task, metric)[0]
            for each, single in zip(pooled, is_single, strict=True)
        ]
    points: list[float] = _points([pooled_episodes(task, metric, each) for each in pooled], how.score).tolist()
    return points


def pooled_episodes(task: Task, metric: Metric, pooled: PooledResults) -> Sequence[float]:
    """The value of each episode of all results."""
    if len(pooled) == 1:
        return episode_values(task, metric, pooled[0])
    return [value for result in pooled for value in episode_values(task, metric, result)]


def oriented(measured: EstimateArrays, metric: Metric) -> EstimateArrays:
    """The estimates with signs changed if lower is better, so that greater is better."""
    if oriented_value(metric, 1) > 0:
        return measured
    without_tails = measured.without_tails[:, ::-1] * [-1, 1]
    return measured._replace(
        score=-measured.score, low=-measured.high, high=-measured.low, centre=-measured.centre, without_tails=without_tails
    )


def significance_level(tries: Floats) -> Floats:
    """The chance of an error on each side: 0.025 for one try, 0.025 / (k (k − 1)) for k tries.

    A k-th of 0.025 would do for whoever plans k tries. But an owner may stop at the first lucky one, so the chances of all
    k have to add up to little: 1 / (k (k − 1)) adds up to 1 over k = 2, 3, …

    Args:
        tries: at least 1, of any shape.
    """
    shares: Floats = TAIL / np.maximum(tries * (tries - 1), 1)
    return shares


def critical_value(size: Floats, tries: Floats) -> Floats:
    """Student's t at 1 − `significance_level(tries)`, with `size` − 1 degrees of freedom; 1.98 for size 100 and one try.

    Args:
        size: at least 2 to be of use; shape (entries,).
        tries: at least 1, shape (entries,).
    """
    pairs, positions = np.unique(np.stack([np.maximum(size - 1, 1), significance_level(tries)]), axis=1, return_inverse=True)
    quantiles = [student_quantile(int(freedom), 1 - chance) for freedom, chance in pairs.T.tolist()]
    return np.array(quantiles)[positions.reshape(-1)]


def intervals(measured: EstimateArrays) -> list[Estimate]:
    """The score and interval of each entry."""
    columns = [column.tolist() for column in measured[:3]]
    if np.isnan(measured[:3]).any():
        columns = [[MISSING if is_missing(value) else value for value in column] for column in columns]
    return [Estimate(score=score, low=low, high=high) for score, low, high in zip(*columns, strict=True)]


def deviation(drawn: Floats) -> Floats:
    """The standard deviation of each row, shape (rows,); exactly 0 if all values are equal."""
    deviations: Floats = (drawn - drawn[:, :1]).std(axis=1)
    return deviations


def _points(returns: Sequence[Sequence[float]], scoring: Scoring) -> Floats:
    points = np.empty(len(returns))
    for chosen in by_length(returns):
        points[chosen] = scores(sorted_values([returns[i] for i in chosen], None), scoring)
    return points
