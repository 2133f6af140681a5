"""How entries compare: which are significantly better, the least difference that can be told, and who improves on whom.

The probability of improvement of one entry on another is P(A > B) + ½ P(A = B) for an episode of each: the Mann-Whitney
statistic U / (mn) (The Annals of Mathematical Statistics 18, 1947), as Agarwal et al. (NeurIPS 2021) compare agents. The
compare page computes the same in `site/assets/js/stats.js`; a test compares both to the last digits.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.sealed_fields import secret_hash
from leaderboard.core.arrays import Bools, Floats, Indices
from leaderboard.core.standings import TaskRow
from leaderboard.scoring.bootstrap import Scoring, trim_count
from leaderboard.scoring.intervals import (
    INTERVAL_QUANTILES,
    MIN_EQUAL_VALUES,
    EstimateArrays,
    PooledResults,
    compared_families,
    deviation,
    normal_quantile,
    normal_quantiles,
    raised_tails,
    significance_level,
    student_quantile,
    student_quantiles,
)
from leaderboard.scoring.metrics import any_sealed, episode_metric, episode_values, oriented_value, ranking_metric

# Entries are compared in blocks of this many rows, which stay in the processor's cache.
COMPARED_ENTRIES_AT_ONCE = 16
# Values differ by rounding errors of this share of them.
ROUNDING = 1e-12
# Below this share of the squares that it is the difference of, a sum of squares is computed from the differences themselves.
CANCELLED = 1e-9
PAIRS_AT_ONCE = 1000


class Comparison(NamedTuple):
    """Each entry compared with all others, shape (entries,)."""

    better: Indices
    """How many others are significantly better."""
    worse: Indices
    """How many others are significantly worse."""


class CriticalValues:
    """What a statistic of a pair must exceed, by the pair's class and the number of pairs not yet told apart.

    A class is the degrees of freedom of the pair and the tries of whichever of the two is ahead: a claim in its favour
    counts at the level that `significance_level` gives for them, since the best of many draws is ahead by luck.
    """

    def __init__(self, freedom: Indices, tries: Indices, pairs: int) -> None:
        """Take each entry's degrees of freedom (0: normal quantiles) and tries, and how many pairs it is in."""
        kinds, self._freedom = np.unique(freedom, return_inverse=True)
        among, self._tries = np.unique(tries, return_inverse=True)
        self._among = len(among)
        chances = 1 - significance_level(among.astype(np.float64))[:, np.newaxis] / np.arange(1, pairs + 1)
        tables = [student_quantiles(int(kind), chances) if kind else normal_quantiles(chances) for kind in kinds.tolist()]
        self._table: Floats = np.concatenate([np.zeros((0, pairs)), *tables])
        """Shape (classes, pairs); column m − 1 is for m pairs left."""

    @property
    def most(self) -> float:
        """Every statistic above it is significant."""
        return float(self._table.max(initial=0))

    def classes(self, rows: slice, columns: slice, is_row_ahead: Bools) -> Indices:
        """The class of each pair of a row and a column, shape (rows, columns)."""
        if len(self._table) == 1:
            return np.zeros((1, 1), dtype=np.intp)
        tries = np.where(is_row_ahead, self._tries[rows, np.newaxis], self._tries[columns])
        return np.minimum.outer(self._freedom[rows], self._freedom[columns]) * self._among + tries

    def step_down(self, statistics: Floats, classes: Indices, certain: Indices | int = 0) -> Bools:
        """Which pairs of each row are told apart, by Holm's procedure (Scandinavian Journal of Statistics 6, 1979).

        Each row is a family of its own: with probability 0.95 none of its pairs is told apart wrongly. If m of its pairs
        are left, those above the critical value for m are told apart, until no more are.

        Args:
            statistics: absolute differences in standard errors, shape (rows, columns); 0 for an entry and itself.
            classes: of each pair, shape (rows, columns) or (1, 1).
            certain: pairs of each row that are not among the columns and are told apart.
        """
        pairs, last = self._table.shape[1], np.full(len(statistics), -1)
        apart = np.zeros(statistics.shape, dtype=np.bool_)
        count = np.zeros(len(statistics), dtype=np.intp)
        while (count != last).any():
            last = count
            apart = statistics > self._table[classes, np.maximum(pairs - 1 - count, 0)[:, np.newaxis]]
            count = certain + row_counts(apart)
        return apart


def row_counts(marks: Bools) -> Indices:
    """How many marks each row has, in a third of the time of `marks.sum(axis=1)` (`python -m bench.rank_bench`)."""
    counts: Indices = np.bitwise_count(np.packbits(marks, axis=1)).sum(axis=1, dtype=np.intp)
    return counts


def compare_all(measured: EstimateArrays) -> Comparison:
    """Compare every two entries; greater is better.

    The differences of an entry to all others are one family, which holds at 95 % (Holm); so its rank interval does, too
    (Mogstad, Romano, Shaikh & Wilhelm, Review of Economic Studies 91, 2024). A difference of two independent scores has
    the statistic |a − b| / √(error_a² + error_b²) and the t of the smaller sample: Welch's interval (Biometrika 34, 1947)
    with conservative degrees of freedom. With the pseudo-episodes of bounded returns it is the interval of Agresti & Caffo
    (The American Statistician 54, 2000) for 0/1 returns. Entries with an unknown spread are told apart from none.

    Rare returns that are very bad lower a score and widen its error by as much, but make nobody better. So whoever is behind
    is told apart, too, if it would be without them, as `EstimateArrays.without_tails` says.

    Pairs whose difference is above the widest possible margin are not computed.
    """
    finite = np.flatnonzero(np.isfinite(measured.error))
    chosen = finite[np.argsort(-measured.centre[finite], kind="stable")]
    centre, variance = measured.centre[chosen], measured.error[chosen] ** 2
    families = compared_families(len(chosen) - 1, measured.tries[chosen])
    choices = np.concatenate(measured.without_tails[chosen, 0, :, :families].transpose(1, 2, 3, 0))
    different = [choices[0], *(own for before, own in pairwise(choices) if not np.array_equal(before, own))]
    without_tails = [(raised, error**2) for raised, error in different]
    freedom, tries = (measured.size[chosen] - 1).astype(np.intp), measured.tries[chosen].astype(np.intp)
    critical = CriticalValues(freedom, tries, max(len(chosen) - 1, 1))
    better, worse = np.zeros((2, len(measured.score)), dtype=np.intp)
    widest = variance.max(initial=0)
    for start in range(0, len(chosen), COMPARED_ENTRIES_AT_ONCE):
        rows = slice(start, min(start + COMPARED_ENTRIES_AT_ONCE, len(chosen)))
        margin = critical.most * np.sqrt(variance[rows].max() + widest)
        first = int(np.searchsorted(-centre, -centre[start] - margin))
        stop = int(np.searchsorted(-centre, -centre[rows.stop - 1] + margin, side="right"))
        near = slice(first, stop)
        lead = np.subtract.outer(centre[rows], centre[near])
        statistics = _in_errors(lead, np.add.outer(variance[rows], variance[near]))
        # Of two entries the later one is behind.
        of_rows, of_columns = statistics[:, : rows.stop - first], statistics[:, start - first :]
        for raised, its_variance in without_tails:
            lead_over_rows = np.subtract.outer(-raised[rows], -centre[first : rows.stop])
            spread = np.add.outer(its_variance[rows], variance[first : rows.stop])
            np.maximum(of_rows, _in_errors(np.maximum(lead_over_rows, 0), spread), out=of_rows)
            lead_over_columns = np.subtract.outer(centre[rows], raised[start:stop])
            spread = np.add.outer(variance[rows], its_variance[start:stop])
            np.maximum(of_columns, _in_errors(np.maximum(lead_over_columns, 0), spread), out=of_columns)
        apart = critical.step_down(statistics, critical.classes(rows, near, lead > 0), first + len(chosen) - stop)
        better[chosen[rows]] = first + row_counts(apart & (lead < 0))
        worse[chosen[rows]] = len(chosen) - stop + row_counts(apart & (lead > 0))
    return Comparison(better, worse)


def _in_errors(lead: Floats, variance: Floats) -> Floats:
    """Absolute differences in standard errors; 0 for no difference, even without an error."""
    with np.errstate(over="ignore"):
        errors = np.maximum(variance, np.finfo(np.float64).tiny)
        statistics: Floats = np.abs(lead)
        np.divide(statistics, np.sqrt(errors, out=errors), out=statistics)
    return statistics


def compare_same_episodes(pooled: Sequence[PooledResults], tries: Sequence[int], task: Task) -> Comparison | None:
    """Compare every two entries of one task, episode by episode; None if they cannot be paired.

    They can if all have one result of the same secret episodes, at least two, and a mean or an interquartile mean ranks.
    """
    metric = ranking_metric(task)
    how = episode_metric(task, metric)
    if how is None or how.score == "median" or any(len(each) > 1 for each in pooled):
        return None
    results = [each[0] for each in pooled]
    if len({result.seeds for result in results}) != 1 or len(results[0].seeds) < 2:
        return None
    if any(result.sealed or secret_hash(result.beacon) is None for result in results):
        return None
    episodes = np.array([episode_values(task, metric, result) for result in results], dtype=np.float64)
    value_range = how.bounds[1] - how.bounds[0] if how.bounds and how.score == "mean" else None
    return compare_paired(oriented_value(metric, 1) * episodes, how.score, value_range, tries)


class _PairedValues(NamedTuple):
    """The same episodes of every entry."""

    score: Floats
    deviations: Floats
    """From each row's mean, shape (entries, episodes)."""
    squares: Floats
    """Their squares' sums."""
    rounding: Floats
    """What the squares' sums of a difference are by rounding alone."""

    @classmethod
    def of(cls, values: Floats, score: Floats) -> Self:
        deviations = values - values.mean(axis=1, keepdims=True)
        rounding = values.shape[1] * (ROUNDING * np.abs(values).max(axis=1)) ** 2
        return cls(score, deviations, (deviations**2).sum(axis=1), rounding)


class _PairedTest(NamedTuple):
    """The test of two entries' differences; see `compare_paired`."""

    kept: int
    value_range: float | None
    is_certain: bool
    """Whether equal differences of values without bounds are told apart."""

    @property
    def size(self) -> int:
        """Degrees of freedom, plus one."""
        return self.kept if self.value_range is None else self.kept + 2

    def leads(self, rows: slice, ours: _PairedValues, others: _PairedValues) -> tuple[Floats, Floats]:
        """The leads of some entries over all, and how many standard errors they are."""
        lead = np.subtract.outer(ours.score[rows], others.score)
        products = ours.deviations[rows] @ others.deviations.T
        squares = np.add.outer(ours.squares[rows], others.squares)
        spread = np.maximum(squares - 2 * products, 0)
        if self.value_range is None:
            cancelled = (lead != 0) & (spread < CANCELLED * squares)
            self._compute_again(spread, cancelled, ours.deviations[rows], others.deviations)
            statistics = _in_errors(lead, spread / (self.kept * max(self.kept - 1, 1)))
            if not self.is_certain:
                statistics[spread <= np.maximum.outer(ours.rounding[rows], others.rounding)] = 0
            return lead, statistics
        spread = spread + self.value_range**2 + lead**2 * self.kept * 2 / self.size
        return lead, _in_errors(lead * self.kept / self.size, spread / (self.size * (self.size - 1)))

    @staticmethod
    def _compute_again(spread: Floats, cancelled: Bools, ours: Floats, others: Floats) -> None:
        """Replace the spreads of which cancellation left rounding errors; mirrored squares are too large for that."""
        pairs = np.argwhere(cancelled)
        for start in range(0, len(pairs), PAIRS_AT_ONCE):
            row, column = pairs[start : start + PAIRS_AT_ONCE].T
            spread[row, column] = ((ours[row] - others[column]) ** 2).sum(axis=1)


def compare_paired(
    values: Floats, scoring: Scoring, value_range: float | None = None, tries: Sequence[int] | None = None
) -> Comparison:
    """Compare every two entries; greater is better.

    Two trimmed means of dependent samples are compared by the Winsorized variance of the differences (Yuen, Biometrika
    61, 1974; Wilcox, Introduction to Robust Estimation and Hypothesis Testing, for dependent groups), with n − 2g − 1
    degrees of freedom; with nothing trimmed that is the paired t test. If values have bounds, two pseudo-pairs are added,
    half of one at each corner (Agresti & Min, Statistics in Medicine 24, 2005), so that a few equal differences are not
    taken for certainty; without bounds, fewer than `MIN_EQUAL_VALUES` equal differences tell nothing apart. The
    differences of an entry to all others are one family, and the one behind is raised, as in `compare_all`.

    Args:
        values: shape (entries, episodes), the same episodes in every row, at least two.
        scoring: mean or iqm.
        value_range: the highest less the lowest possible value; for means only.
        tries: as in `EstimateArrays`; 1 if left out.
    """
    entries, count = values.shape
    cut = trim_count(count, scoring)
    kept = count - 2 * cut
    ordered = np.sort(values, axis=1)
    score = ordered[:, cut : count - cut].mean(axis=1)
    winsorized = np.clip(values, ordered[:, cut, None], ordered[:, count - cut - 1, None])
    plain = _PairedValues.of(winsorized, score)
    test = _PairedTest(kept, value_range, is_certain=count >= MIN_EQUAL_VALUES)
    among = np.ones(entries, dtype=np.intp) if tries is None else np.array(tries, dtype=np.intp)
    families = compared_families(entries - 1, among.astype(np.float64))
    without_tails = _paired_without_tails(values, winsorized, score, scoring, families) if count >= MIN_EQUAL_VALUES else []
    critical = CriticalValues(np.full(entries, max(test.size - 1, 1)), among, max(entries - 1, 1))
    better, worse = np.zeros((2, entries), dtype=np.intp)
    for start in range(0, entries, COMPARED_ENTRIES_AT_ONCE):
        rows, everyone = slice(start, start + COMPARED_ENTRIES_AT_ONCE), slice(0, entries)
        lead, statistics = test.leads(rows, plain, plain)
        for raised in without_tails:
            (over_raised, ahead), (raised_over, behind) = test.leads(rows, plain, raised), test.leads(rows, raised, plain)
            statistics = np.maximum(statistics, np.where(lead > 0, ahead * (over_raised > 0), behind * (raised_over < 0)))
        apart = critical.step_down(statistics, critical.classes(rows, everyone, lead > 0))
        better[rows] = row_counts(apart & (lead < 0))
        worse[rows] = row_counts(apart & (lead > 0))
    return Comparison(better, worse)


def _paired_without_tails(
    values: Floats, winsorized: Floats, score: Floats, scoring: Scoring, families: int
) -> list[_PairedValues]:
    """The entries without very low values, as in `EstimateArrays.without_tails`.

    Of a mean it is the differences from the best entry that are raised: among the values themselves one that is thrown away
    would be raised no further than to those of the episodes in which all have bad luck.
    """
    best = values[score.argmax()] if scoring == "mean" else np.zeros(values.shape[1])
    without_tails = []
    for own in chain(*raised_tails(np.sort(values - best, axis=1), scoring, families)):
        kept, lowest = winsorized if own.cut else values, own.lowest[:, None]
        raised = _PairedValues.of(np.maximum(kept, best + lowest), own.score + best.mean())
        # Where half and more are raised, what their errors are more than those of the raised values.
        mirrored = own.squares - values.shape[1] * deviation(np.maximum(kept - best, lowest)) ** 2
        without_tails.append(raised._replace(squares=raised.squares + np.maximum(mirrored, 0)))
    return without_tails


def smallest_difference(rows: Iterable[TaskRow]) -> float | None:
    """The smallest significant difference between neighbours on the leaderboard, as a median over them.

    The margin of the difference of two independent scores is √(a² + b²) of their margins (Welch's interval, as in
    `compare_all`). Here a and b are half the widths of the 95 % intervals shown, so that readers can check it. The median
    keeps one noisy entry from deciding. Unranked entries take no part, since they hold no place.

    Args:
        rows: in the order of the leaderboard.

    Returns:
        In the unit of the score; None if fewer than two ranked entries have an interval.
    """
    widths = [row.estimate.high - row.estimate.low for row in rows if not row.is_unranked]
    margins = [width / 2 for width in widths if not math.isnan(width)]
    if len(margins) < 2:
        return None
    return statistics.median(math.hypot(a, b) for a, b in pairwise(margins))


# Steps that halve an interval until it is below what a float can tell.
HALVINGS = 60
# A standard error below this is a rounding error.
LEAST_ERROR = 1e-9


class Improvement(NamedTuple):
    """How likely an episode of one entry is better than one of another, with its 95 % interval."""

    probability: float
    low: float
    high: float


def improvement(a: npt.ArrayLike, b: npt.ArrayLike) -> Improvement:
    """The probability that a value of A is greater than one of B, a tie counted half.

    The interval is that of Brunner & Munzel (Biometrical Journal 42, 2000) on the logit scale (Pauly, Asendorf &
    Konietschke, Biometrical Journal 58, 2016), which allows ties and unequal spread, with Satterthwaite's degrees of
    freedom, rounded down. Where no value of one lies among those of the other its variance is zero; then it is method 5 of
    Newcombe (Statistics in Medicine 25, 2006). With fewer than two values on a side it is from 0 to 1.

    Args:
        a: independent values, at least one; greater is better.
        b: likewise.
    """
    # Both in order, in which values are found faster.
    ours, theirs = (np.sort(np.asarray(values, dtype=np.float64)) for values in (a, b))
    over, under = _placements(ours, theirs), _placements(theirs, ours)
    m, n = len(ours), len(theirs)
    probability = math.fsum(over.tolist()) / m
    if m < 2 or n < 2:
        return Improvement(probability, 0.0, 1.0)
    of_a, of_b = _variance(over) / m, _variance(under) / n
    error = math.sqrt(of_a + of_b)
    if error <= LEAST_ERROR or not 0 < probability < 1:
        return _newcombe(probability, m, n)
    freedom = (of_a + of_b) ** 2 / (of_a**2 / (m - 1) + of_b**2 / (n - 1))
    middle = math.log(probability / (1 - probability))
    # A rounding error must not cost a degree of freedom.
    margin = (
        student_quantile(math.floor(freedom + LEAST_ERROR), INTERVAL_QUANTILES[1])
        * error
        / (probability * (1 - probability))
    )
    return Improvement(probability, _logistic(middle - margin), _logistic(middle + margin))


def mean_improvement(tasks: Sequence[Improvement]) -> Improvement:
    """The mean over independent tasks, as rliable's `probability_of_improvement`.

    Each end is as far from the mean as the root of the sum of the squared distances on the tasks, divided by their number
    (the method of variance estimates recovery of Zou & Donner, Statistics in Medicine 27, 2008). So a task on which one
    entry always wins adds its own uncertainty. For one task it is that task's interval.
    """
    probability = math.fsum(task.probability for task in tasks) / len(tasks)
    below = math.hypot(*(task.probability - task.low for task in tasks)) / len(tasks)
    above = math.hypot(*(task.high - task.probability for task in tasks)) / len(tasks)
    return Improvement(probability, probability - below, probability + above)


def improvements_on_next(values: Iterable[Floats]) -> Iterator[Improvement | None]:
    """Each entry's improvement on the next one; None for the last, and where either has no values.

    Args:
        values: of each entry, as `compared_values` has them.
    """
    for first, second in pairwise(chain(values, [NO_VALUES])):
        yield improvement(first, second) if len(first) and len(second) else None


NO_VALUES: Floats = np.empty(0)


def compared_values(task: Task, pooled: Sequence[Result]) -> Floats:
    """The values of all episodes, signs set so that greater is better; none if they are not shown.

    They are those that the metric that ranks is made of, or the returns if it is made of something else.
    """
    if any_sealed(pooled):
        return NO_VALUES
    metric = ranking_metric(task)
    if episode_metric(task, metric) is None:
        return np.concatenate([np.asarray(result.returns, dtype=np.float64) for result in pooled])
    values = [np.asarray(episode_values(task, metric, result), dtype=np.float64) for result in pooled]
    return oriented_value(metric, 1) * np.concatenate(values)


def _placements(values: Floats, others: Floats) -> Floats:
    """For each value the share of the others below it, ties counted half; the others ascending."""
    placements: Floats = (others.searchsorted(values) + others.searchsorted(values, side="right")) / 2 / len(others)
    return placements


def _variance(values: Floats) -> float:
    """Exactly rounded sums, so that the order of the values does not matter."""
    middle = math.fsum(values.tolist()) / len(values)
    return math.fsum(((values - middle) ** 2).tolist()) / (len(values) - 1)


def _newcombe(probability: float, m: int, n: int) -> Improvement:
    """The ends θ at which the probability is just 1.96 standard errors of θ away, by halving."""
    more, z = (m + n) / 2 - 1, normal_quantile(INTERVAL_QUANTILES[1])

    def fits(theta: float) -> bool:
        spread = theta * (1 - theta) * (1 + more * (1 - theta) / (2 - theta) + more * theta / (1 + theta)) / (m * n)
        return abs(probability - theta) <= z * math.sqrt(spread)

    return Improvement(probability, _halved(fits, probability, 0.0), _halved(fits, probability, 1.0))


def _halved(fits: Callable[[float], bool], inside: float, outside: float) -> float:
    """The last number that fits on the way from one that does to one that does not."""
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if fits(middle) else (inside, middle)
    return inside


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
