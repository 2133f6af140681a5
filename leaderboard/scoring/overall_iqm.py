"""The interquartile mean over the episodes of several tasks, with its stratified bootstrap, as rliable has them.

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
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from leaderboard.core.arrays import Floats, Indices
from leaderboard.scoring.bootstrap import FLOAT_BITS, LOWEST_EXPONENT, QUARTER, random_stream
from leaderboard.scoring.intervals import INTERVAL_QUANTILES, row_sums

# The ends of the interval have a noise of 0.08 standard errors.
IQM_RESAMPLES = 1000
# Where the least common multiple of the numbers of episodes is above this, masses are rounded.
MOST_MASS = 1 << 20
# Rows within this many standard deviations of a cut are summed one by one; twice as many if a resample needs them.
NEAR = 4.0
IQM_ENTRIES_AT_ONCE = 250
# Windows whose rows are summed by one call each, since a call takes longer than a thousand additions.
WINDOWS_AT_ONCE = 16
Masses = npt.NDArray[np.signedinteger[Any]]
Shape = tuple[tuple[str, int], ...]
"""Task and number of values of each stratum."""


class Stratum(NamedTuple):
    """The values of one entry on one task."""

    task_id: str
    values: Floats | Sequence[float]
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
        for begin in range(0, len(rows), IQM_ENTRIES_AT_ONCE):
            part = rows[begin : begin + IQM_ENTRIES_AT_ONCE]
            values = np.array([np.concatenate([stratum.values for stratum in entries[row]]) for row in part.tolist()])
            for first, last in pairwise([0, *np.cumsum(tables.sizes).tolist()]):
                values[:, first:last].sort(axis=1)
            pooled = _Pooled(values, tables)
            low, high = np.quantile(pooled.resampled(), INTERVAL_QUANTILES, axis=1)
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


@functools.lru_cache(maxsize=64)
def _copies(task_id: str, size: int) -> npt.NDArray[np.int64]:
    """How often each value of a stratum is drawn in each resample; agents may enter tasks in as many ways as they like."""
    random = random_stream("pullrank-iqm-1", task_id, size)
    copies: npt.NDArray[np.int64] = random.multinomial(size, np.full(size, 1 / size), size=IQM_RESAMPLES).T
    return copies


@functools.lru_cache(maxsize=4)
def _tables(shape: Shape) -> _Tables:
    sizes = [size for _, size in shape]
    common = min(math.lcm(*sizes), MOST_MASS)
    masses = [max(1, round(common / size)) for size in sizes]
    kind = np.int16 if np.dot(sizes, masses) <= np.iinfo(np.int16).max else np.int32
    parts = []
    for (task_id, size), mass in zip(shape, masses, strict=True):
        parts.append((mass * _copies(task_id, size)).astype(kind))
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
        means = row_sums(np.asarray(kept * self._values, np.float64)) / self._kept
        # The mean of n equal numbers may differ from them by rounding.
        lowest = np.where(kept > 0, self._values, np.inf).min(axis=1)
        highest = np.where(kept > 0, self._values, -np.inf).max(axis=1)
        rounded: Floats = np.clip(means, lowest, highest)
        return rounded

    def resampled(self) -> Floats:
        """The scores of the resamples, shape (entries, IQM_RESAMPLES)."""
        drawn, inside = np.empty((len(self._values), IQM_RESAMPLES)), np.zeros_like(self._values)
        lowest, step = np.empty((2, len(self._values), 1))
        left, near = np.arange(len(self._values)), 0.0
        while len(left):
            scale = self._scale(left, max(near, NEAR))
            lowest[left], step[left] = scale.lowest, scale.step
            steps = dict(zip(left.tolist(), scale.steps, strict=True))
            windows = [self._windows(row, near) for row in left.tolist()]
            for row, pair in zip(left.tolist(), windows, strict=True):
                drawn[row] = self._ends[1] * steps[row][pair[-1].stop] - self._ends[0] * steps[row][pair[0].start]
            failed = self._subtract([window for pair in windows for window in pair], steps, drawn)
            for row, pair in zip(left.tolist(), windows, strict=True):
                begin, end = steps[row][pair[0].stop], steps[row][pair[-1].start]
                if begin < end:
                    by_stratum = np.rint((self._by_stratum[row] - lowest[row]) / step[row])
                    inside[row] = end - np.clip(by_stratum, begin, end)
            left, near = np.array(sorted(failed), dtype=np.intp), max(2 * near, NEAR)
            inside[left] = 0
        return lowest + (drawn - inside @ self._tables.float_counts) * (step / self._kept)

    def _scale(self, rows: Indices, near: float) -> "_Scale":
        """The values of some entries in steps, those beyond the rows near the cuts clipped to the nearest of these rows."""
        (first, _), (_, last) = (self._near(rows, end, self._reach(near)) for end in self._ends)
        lowest, highest = self._values[rows, first, np.newaxis], self._values[rows, last, np.newaxis]
        # All differences are below this power of two, so their sums in steps fit the integers of a float.
        power = np.frexp(highest - lowest)[1]
        step = np.ldexp(1.0, np.maximum(power - FLOAT_BITS + sum(self._ends).bit_length(), LOWEST_EXPONENT))
        steps = np.rint((np.clip(self._values[rows], lowest, highest) - lowest) / step)
        return _Scale(lowest, step, steps)

    def _reach(self, near: float) -> float:
        """`near` times the largest standard deviation of the mass below a row, which it has at half of every stratum."""
        return near * math.sqrt((self._tables.masses**2 * self._tables.sizes).sum()) / 2

    def _near(self, rows: Indices, end: int, reach: Floats | float) -> tuple[Indices, Indices]:
        """The first row and the end of the rows within some mass of a cut, for some entries."""
        sums = self._sums[rows]
        first, last = ((sums < np.expand_dims(end + side * reach, -1)).sum(axis=1) for side in (-1, 1))
        return first, np.minimum(last + 1, self._last)

    def _windows(self, row: int, near: float) -> list["_Window"]:
        """The rows near the cuts: two windows, or one that reaches from the first to the second.

        With a `near` of 0 those within `NEAR` of the deviations that the masses below the cuts have: fewer rows, which
        nearly always do.
        """
        (low, low_stop), (high, high_stop) = (self._edges(row, end, near) for end in self._ends)
        cut, rest = self._ends
        if low_stop >= high:
            return [_Window(row, low, high_stop, cut, rest)]
        return [_Window(row, low, low_stop, cut, cut), _Window(row, high, high_stop, rest, rest)]

    def _edges(self, row: int, end: int, near: float) -> tuple[int, int]:
        reach = self._reach(near or NEAR)
        if not near:
            tables = self._tables
            share = self._below(row, int(np.searchsorted(self._sums[row], end))) / tables.sizes
            reach = min(reach, NEAR * math.sqrt((tables.masses**2 * tables.sizes * share * (1 - share)).sum()))
        first, last = np.searchsorted(self._sums[row], (end - reach, end + reach))
        return int(first), min(int(last) + 1, self._last)

    def _below(self, row: int, count: int) -> Indices:
        """How many of the `count` lowest values are of each stratum."""
        return np.bincount(self._strata[row, :count], minlength=len(self._tables.sizes))

    def _subtract(self, windows: Sequence["_Window"], steps: Mapping[int, Floats], drawn: Floats) -> set[int]:
        """Subtract Σ c_i (v_{i+1} − v_i) over windows; returns the entries of which a resample needs more rows."""
        failed: set[int] = set()
        for begin in range(0, len(windows), WINDOWS_AT_ONCE):
            part = windows[begin : begin + WINDOWS_AT_ONCE]
            before, sums = self._sums_of(part)
            highest = before.max(axis=1).tolist()
            for index, window in enumerate(part):
                size = window.stop - window.start
                reaches = window.stop == self._last or sums[size - 1, index].min() >= window.last
                if highest[index] > window.first or not reaches:
                    failed.add(window.row)
                    continue
                kept = np.clip(sums[:size, index], *self._ends, dtype=sums.dtype).astype(np.float64)
                drawn[window.row] -= np.diff(steps[window.row][window.start : window.stop + 1]) @ kept
        return failed

    def _sums_of(self, windows: Sequence["_Window"]) -> tuple[Masses, Masses]:
        """The mass of the i lowest values of each resample: before each window, and after each of its rows.

        Returns:
            Shapes (windows, IQM_RESAMPLES) and (rows, windows, IQM_RESAMPLES); after a window's last row they mean nothing.
        """
        tables, rows = self._tables, [window.row for window in windows]
        before = np.zeros((len(windows), IQM_RESAMPLES), dtype=tables.counts.dtype)
        for index, window in enumerate(windows):
            for part, count in zip(tables.sums, self._below(window.row, window.start).tolist(), strict=True):
                before[index] += part[count]
        size = max(window.stop - window.start for window in windows)
        starts = np.array([window.start for window in windows])
        positions = np.minimum(starts + np.arange(size)[:, np.newaxis], self._last)
        sums = np.take(tables.counts, self._order[rows, positions], axis=0)
        # Row by row: faster than `np.cumsum` along the first axis.
        for last, row in pairwise([before, *sums]):
            row += last
        return before, sums


class _Scale(NamedTuple):
    """The values of some entries in steps; shape (entries, 1), but for `steps`."""

    lowest: Floats
    step: Floats
    steps: Floats
    """Shape (entries, N)."""


class _Window(NamedTuple):
    """Rows of one entry's ordered values."""

    row: int
    """The entry's."""
    start: int
    stop: int
    first: int
    """No resample has more mass before the window."""
    last: int
    """No resample has less mass up to its end."""
