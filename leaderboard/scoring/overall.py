"""The overall leaderboard: one number across all tasks of the season.

Only tasks with both anchors, `random` and `reference`, have normalised scores; the others are left out. The mean of the
scores ranks. Each counts at least 0, so playing badly is no worse than not playing, and at most 2.

Beside it stands the interquartile mean over the episodes of all tasks, with its stratified bootstrap, as rliable has them.

Agarwal et al., Deep Reinforcement Learning at the Edge of the Statistical Precipice, 2021: all runs of all tasks are one
sample, a quarter of which is cut from each end; a resample draws as many runs of each task, with replacement, as there
are. With equally many runs of each task the score is `scipy.stats.trim_mean(runs, 0.25, axis=None)`. Otherwise each run has
a mass such that all tasks have the same, and a quarter of all mass is cut from each end.

Let S_i be the mass of the i lowest values of a resample, and c_i the same, not below the cut and not above the total less
the cut. The sum of what is left is Σ v_i (c_i − c_{i−1}), or v_N c_N − v_1 c_0 − Σ c_i (v_{i+1} − v_i). Only near the two
cuts do resamples differ in which values are cut; far outside c_i is constant, and far inside it is S_i, which is linear in
the counts. So only the rows near the cuts are summed one by one. Values are rounded to steps as in `bootstrap`, so that
every sum is exact.
"""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from leaderboard.core.entry import AgentName
from leaderboard.core.parallel import run_in_background
from leaderboard.core.standings import Entry, Estimate, OverallRow, Row, TaskStandings
from leaderboard.scoring.bootstrap import FLOAT_BITS, LOWEST_EXPONENT, QUARTER, Floats, Indices, random_stream
from leaderboard.scoring.intervals import (
    ENDS,
    TAIL,
    EstimateArrays,
    critical_value,
    intervals,
    normal_quantile,
    normal_quantiles,
    pooled_episodes,
    tail,
)
from leaderboard.scoring.metrics import MISSING, any_sealed, episode_metric, ranking, value_or_none
from leaderboard.scoring.ranking import name_order, ranks_beside
from leaderboard.scoring.score_all import (
    LEAST_COUNTED,
    MOST_COUNTED,
    CommonScale,
    OverallSample,
    common_scale,
    counted,
)

# The ends of the interval have a noise of 0.08 standard errors.
IQM_RESAMPLES = 1000
# Where the least common multiple of the numbers of episodes is above this, masses are rounded.
MOST_MASS = 1 << 20
# Rows within so many standard deviations of a cut are summed one by one; twice as many if a resample needs them.
NEAR = 4.0
ENTRIES_AT_ONCE = 250
Masses = npt.NDArray[np.signedinteger[Any]]
Shape = tuple[tuple[str, int], ...]
"""Task and number of values of each stratum."""


class Stratum(NamedTuple):
    """The values of one entry on one task."""

    task_id: str
    values: Sequence[float]
    """Normalised, in any order, at least one. A single one is the same in all resamples."""


class ResampledIqm(NamedTuple):
    """Shape (entries,) each; low and high are the ends of the 95 % percentile intervals, extended to the score."""

    score: Floats
    low: Floats
    high: Floats


def stratified_iqm(entries: Sequence[Sequence[Stratum]]) -> ResampledIqm:
    """The interquartile mean of each entry over all its strata, each with the same share, and its interval.

    Args:
        entries: the strata of each entry, at least one.
    """
    columns = ResampledIqm(*np.empty((3, len(entries))))
    shapes = [tuple((stratum.task_id, len(stratum.values)) for stratum in strata) for strata in entries]
    for shape in sorted(set(shapes)):
        rows = np.flatnonzero([other == shape for other in shapes])
        tables = _tables(shape)
        for begin in range(0, len(rows), ENTRIES_AT_ONCE):
            part = rows[begin : begin + ENTRIES_AT_ONCE]
            values = np.array([[v for stratum in entries[row] for v in sorted(stratum.values)] for row in part.tolist()])
            pooled = _Pooled(values, tables)
            low, high = np.quantile(pooled.resampled(), ENDS, axis=1)
            score = pooled.scores()
            columns.score[part] = score
            columns.low[part], columns.high[part] = np.minimum(low, score), np.maximum(high, score)
    return columns


class _Tables(NamedTuple):
    """What all entries with the same numbers of episodes share; N values, in the order of the strata."""

    strata: Indices
    """The stratum of each value, shape (N,)."""
    sizes: Indices
    """Values of each stratum."""
    masses: Indices
    """The mass of a value of each stratum."""
    counts: Masses
    """The mass of the copies of each value in each resample, shape (N, IQM_RESAMPLES)."""
    sums: Sequence[Masses]
    """For each stratum the mass of the copies of its k lowest values, shape (1 + its size, IQM_RESAMPLES)."""
    float_counts: Floats
    """The counts again, for matrix products."""


@functools.lru_cache(maxsize=4)
def _tables(shape: Shape) -> _Tables:
    sizes = [size for _, size in shape]
    common = min(math.lcm(*sizes), MOST_MASS)
    masses = [max(1, round(common / size)) for size in sizes]
    kind = np.int16 if np.dot(sizes, masses) <= np.iinfo(np.int16).max else np.int32
    parts = []
    for (task_id, size), mass in zip(shape, masses, strict=True):
        random = random_stream("pullrank-iqm-1", task_id, size)
        copies = random.multinomial(size, np.full(size, 1 / size), size=IQM_RESAMPLES).T
        parts.append((mass * copies).astype(kind))
    counts = np.concatenate(parts)
    return _Tables(
        strata=np.repeat(np.arange(len(sizes)), sizes), sizes=np.array(sizes), masses=np.array(masses), counts=counts,
        sums=[np.cumsum(np.vstack([0 * part[:1], part]), axis=0, dtype=kind) for part in parts],
        float_counts=counts.astype(np.float64),
    )  # fmt: skip


class _Pooled:
    """Some entries with the same numbers of episodes: the values of each in one order over all strata."""

    def __init__(self, values: Floats, tables: _Tables) -> None:
        """Sort the values.

        Args:
            values: in the order of the strata, ascending within each, shape (entries, N).
            tables: of their numbers of episodes.
        """
        self._tables, self._by_stratum = tables, values
        self._order = np.argsort(values, axis=1, kind="stable")
        self._values = np.take_along_axis(values, self._order, axis=1)
        self._strata = tables.strata[self._order]
        self._sums = np.cumsum(tables.masses[self._strata], axis=1)
        total = int(self._sums[0, -1])
        cut = int(QUARTER * total)
        self._ends, self._kept, self._last = (cut, total - cut), total - 2 * cut, values.shape[1] - 1

    def scores(self) -> Floats:
        """The score of each entry, exactly rounded."""
        kept = np.diff(np.clip(self._sums, *self._ends), prepend=self._ends[0], axis=1)
        means = np.array([math.fsum(row) for row in (kept * self._values).tolist()]) / self._kept
        # The mean of n equal numbers may differ from them by rounding.
        lowest = np.where(kept > 0, self._values, np.inf).min(axis=1)
        highest = np.where(kept > 0, self._values, -np.inf).max(axis=1)
        rounded: Floats = np.clip(means, lowest, highest)
        return rounded

    def resampled(self) -> Floats:
        """The scores of the resamples, shape (entries, IQM_RESAMPLES)."""
        drawn, inside = np.empty((len(self._values), IQM_RESAMPLES)), np.zeros_like(self._values)
        lowest, step = np.empty((2, len(self._values), 1))
        for row, values in enumerate(self._values):
            windows = self._windows(row)
            first, last = windows[0].rows.start, windows[-1].rows.stop
            lowest[row] = values[first]
            # All differences are below this power of two, so their sums in steps fit the integers of a float.
            power = np.frexp(values[last] - values[first])[1]
            step[row] = np.ldexp(1.0, max(power - FLOAT_BITS + sum(self._ends).bit_length(), LOWEST_EXPONENT))
            steps = np.rint((np.clip(values, values[first], values[last]) - lowest[row]) / step[row])
            drawn[row] = self._ends[1] * steps[last]
            for rows, sums in windows:
                drawn[row] -= np.diff(steps[rows.start : rows.stop + 1]) @ sums.astype(np.float64)
            begin, end = steps[windows[0].rows.stop], steps[windows[-1].rows.start]
            if begin < end:
                by_stratum = np.rint((self._by_stratum[row] - lowest[row]) / step[row])
                inside[row] = end - np.clip(by_stratum, begin, end)
        return lowest + (drawn - inside @ self._tables.float_counts) * (step / self._kept)

    def _windows(self, row: int) -> list["_Window"]:
        """The rows near the cuts: two windows, or one that reaches from the first to the second."""
        near = NEAR
        while True:
            low, high = (self._near(row, end, near) for end in self._ends)
            cut, rest = self._ends
            windows = [(low, cut, cut), (high, rest, rest)]
            if low.stop >= high.start:
                windows = [(slice(low.start, high.stop), cut, rest)]
            summed = [(rows, self._sums_of(row, rows), first, last) for rows, first, last in windows]
            if all(
                sums[0].max() <= first and (rows.stop == self._last or sums[-1].min() >= last)
                for rows, sums, first, last in summed
            ):
                return [_Window(rows, np.clip(sums[1:], cut, rest)) for rows, sums, _, _ in summed]
            near *= 2

    def _near(self, row: int, end: int, near: float) -> slice:
        """The rows within `near` standard deviations of a cut.

        The deviation is the largest that the mass below a row can have: at half of every stratum.
        """
        reach = near * math.sqrt((self._tables.masses**2 * self._tables.sizes).sum()) / 2
        first, last = np.searchsorted(self._sums[row], (end - reach, end + reach))
        return slice(int(first), min(int(last) + 1, self._last))

    def _below(self, row: int, count: int) -> Indices:
        """How many of the `count` lowest values are of each stratum."""
        return np.bincount(self._strata[row, :count], minlength=len(self._tables.sizes))

    def _sums_of(self, row: int, rows: slice) -> Masses:
        """The mass of the i lowest values of each resample, from before the first of some rows to the last of them."""
        tables = self._tables
        sums = np.empty((rows.stop - rows.start + 1, IQM_RESAMPLES), dtype=tables.counts.dtype)
        below = self._below(row, rows.start)
        np.sum([part[count] for part, count in zip(tables.sums, below, strict=True)], axis=0, out=sums[0])
        # Row by row: faster than `np.cumsum` along the first axis.
        for index, position in enumerate(self._order[row, rows].tolist()):
            np.add(sums[index], tables.counts[position], out=sums[index + 1])
        return sums


class _Window(NamedTuple):
    """Rows of one entry's ordered values."""

    rows: slice
    sums: Masses
    """The c_i of each row and resample, shape (rows, IQM_RESAMPLES)."""


# From so many entries on, a second process resamples half of them.
BACKGROUND_ENTRIES = 250
NOT_MEASURED = Estimate(score=MISSING, low=MISSING, high=MISSING)


@dataclass(frozen=True, kw_only=True)
class OverallEntry:
    """An entry with at least one score on a task that counts."""

    entry: Entry
    rows: Mapping[str, Row]
    """Its row on each task, by the task's id; also where another version of its owner holds the place."""
    held_by: str | None
    """As in `Row`."""

    @property
    def tries(self) -> int:
        """The most on any task: one version counts on all of them."""
        return max(row.tries for row in self.rows.values())

    @property
    def since(self) -> str:
        """When its overall score was complete, in UTC."""
        return max(row.result.provenance.evaluated_at for row in self.rows.values())


def overall_rows(
    boards: Iterable[TaskStandings],
    columns: Mapping[AgentName, OverallSample],
    held: Mapping[AgentName, str],
    *,
    with_iqm: bool = True,
) -> tuple[OverallRow, ...]:
    """Rank entries across tasks by the weighted mean over all tasks that have anchors; a missing score counts 0.

    Args:
        boards: the standings of all tasks.
        columns: the uncertainty of the mean of each entry with a score on such a task.
        held: the entries without a place, as in `TaskStandings`.
        with_iqm: whether the rows have their interquartile means, which take most of the time.
    """
    boards = tuple(boards)
    scales = tuple(scale for board in boards for scale in common_scale(board.task))
    contenders = _contenders(boards, scales, held)
    if not contenders:
        return ()
    values = np.column_stack([_column(contenders, scale) for scale in scales])
    means = _interquartile_means(contenders, scales) if with_iqm else [NOT_MEASURED] * len(contenders)
    rows = zip(contenders, _rows(contenders, scales, values, columns, means), strict=True)

    def order(pair: tuple[OverallEntry, OverallRow]) -> tuple[bool, int, bool, str, tuple[str, ...]]:
        contender, row = pair
        return row.held_by is not None, row.place, not row.is_aside, contender.since, name_order(contender.entry)

    return tuple(row for _, row in sorted(rows, key=order))


def _contenders(
    boards: Iterable[TaskStandings], scales: Iterable[CommonScale], held: Mapping[AgentName, str]
) -> list[OverallEntry]:
    counted = {scale.task.id for scale in scales}
    entries: dict[tuple[str, ...], Entry] = {}
    rows_by_name: dict[tuple[str, ...], dict[str, Row]] = {}
    for board in boards:
        for row in board.rows if board.task.id in counted else ():
            name = name_order(row.entry)
            if row.estimate.is_missing:
                continue
            entries[name] = row.entry
            rows_by_name.setdefault(name, {})[board.task.id] = row
    return [
        OverallEntry(entry=entries[name], rows=rows, held_by=held.get(entries[name].name))
        for name, rows in rows_by_name.items()
    ]


def _rows(
    contenders: Sequence[OverallEntry],
    scales: Sequence[CommonScale],
    values: Floats,
    drawn: Mapping[AgentName, OverallSample],
    means: Sequence[Estimate],
) -> Iterator[OverallRow]:
    measured = _estimates(contenders, scales, values, drawn)
    places = ranks_beside(measured, [one.entry.is_aside or one.held_by is not None for one in contenders])
    columns = zip(contenders, places, intervals(measured), means, values.tolist(), strict=True)
    for contender, rank, estimate, iqm, row in columns:
        normalised = {scale.task.id: value_or_none(value) for scale, value in zip(scales, row, strict=True)}
        yield OverallRow(
            **rank._asdict(), entry=contender.entry, tries=contender.tries, held_by=contender.held_by, estimate=estimate,
            iqm=iqm, normalised=normalised,
        )  # fmt: skip


def _interquartile_means(contenders: Sequence[OverallEntry], scales: Sequence[CommonScale]) -> list[Estimate]:
    """The interquartile mean over all episodes of all tasks; a task without a score is one value of 0.

    A score that is a single number is one value, too. It has no spread to resample, so there is no interval then.
    """
    if len(contenders) < BACKGROUND_ENTRIES:
        return _resampled_means(contenders, scales)
    half = len(contenders) // 2
    # A second process, not a thread: half of the time is spent holding the interpreter's lock.
    with run_in_background(lambda: _resampled_means(contenders[half:], scales)) as others:
        return _resampled_means(contenders[:half], scales) + others()


def _resampled_means(contenders: Sequence[OverallEntry], scales: Sequence[CommonScale]) -> list[Estimate]:
    strata = [[_stratum(contender.rows.get(scale.task.id), scale) for scale in scales] for contender in contenders]
    resampled = stratified_iqm(strata)
    # After several tries both ends are as many times as far from the score as for a normal distribution.
    wider = normal_quantiles(1 - tail(np.array([contender.tries for contender in contenders]))) / normal_quantile(1 - TAIL)
    low = resampled.score - wider * (resampled.score - resampled.low)
    high = resampled.score + wider * (resampled.high - resampled.score)
    means = []
    for contender, of_entry, score, *ends in zip(contenders, strata, resampled.score.tolist(), low, high, strict=True):
        has_spread = all(len(stratum.values) > 1 for stratum in of_entry if stratum.task_id in contender.rows)
        first, last = map(float, ends) if has_spread else (MISSING, MISSING)
        means.append(Estimate(score=score, low=first, high=last))
    return means


def _stratum(row: Row | None, scale: CommonScale) -> Stratum:
    metric = ranking(scale.task)
    if row is None:
        values = np.zeros(1)
    elif any_sealed(row.draws) or episode_metric(scale.task, metric) is None:
        values = scale.normalised(np.array([row.estimate.score]))
    else:
        values = scale.normalised(np.array(pooled_episodes(metric, row.draws), dtype=np.float64))
    return Stratum(scale.task.id, values.tolist())


def _column(contenders: Sequence[OverallEntry], scale: CommonScale) -> Floats:
    """Normalised scores on one task, shape (contenders,); NaN if missing."""
    rows = [contender.rows.get(scale.task.id) for contender in contenders]
    return scale.normalised(np.array([row.estimate.score if row else np.nan for row in rows]))


def _estimates(
    contenders: Sequence[OverallEntry],
    scales: Sequence[CommonScale],
    values: Floats,
    drawn: Mapping[AgentName, OverallSample],
) -> EstimateArrays:
    """The mean over tasks, with its interval."""
    centre, error, size = np.array([drawn[contender.entry.name] for contender in contenders]).T
    score = _weighted(counted(values), scales)
    tries = np.array([contender.tries for contender in contenders], dtype=np.float64)
    margin = critical_value(size, tries) * np.where(np.isfinite(error), error, np.nan)
    low = np.minimum(np.maximum(centre - margin, LEAST_COUNTED), score)
    high = np.maximum(np.minimum(centre + margin, MOST_COUNTED), score)
    # A rounded score of a sealed season has no interval; an interval of width 0 would claim certainty.
    is_sealed = [any(any_sealed(row.draws) for row in contender.rows.values()) for contender in contenders]
    low[is_sealed], high[is_sealed] = np.nan, np.nan
    return EstimateArrays(score=score, low=low, high=high, centre=centre, error=error, size=size, tries=tries)


def _weighted(values: Floats, scales: Sequence[CommonScale]) -> Floats:
    """The weighted mean of each row, exactly rounded where all weights are equal."""
    shares = np.array([scale.task.weight for scale in scales])
    means = np.array([math.fsum(row) for row in (values * shares).tolist()]) / math.fsum(shares)
    # The mean of n equal numbers may differ from them by rounding.
    rounded: Floats = np.clip(means, values.min(axis=1), values.max(axis=1))
    return rounded
