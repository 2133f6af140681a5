"""The overall leaderboard: one number across all tasks of the season.

Only tasks with both reference scores, `random` and `reference`, have normalised scores; the others are left out. The mean
of the scores ranks. Each counts at least 0, so playing badly is no worse than not playing, and at most 2.

Beside it stands the interquartile mean over the episodes of all tasks, which ranks nobody.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leaderboard.core.arrays import Floats
from leaderboard.core.entry import AgentName, Entry, Estimate
from leaderboard.core.parallel import run_in_background
from leaderboard.core.standings import OverallRow, TaskRow, TaskStandings
from leaderboard.scoring.intervals import (
    FAMILIES,
    TAIL,
    EstimateArrays,
    PooledResults,
    critical_value,
    deviation,
    intervals,
    normal_quantile,
    normal_quantiles,
    pooled_episodes,
    row_sums,
    significance_level,
    without_any_tails,
)
from leaderboard.scoring.metrics import MISSING, any_sealed, episode_metric, is_missing, ranking_metric, value_or_none
from leaderboard.scoring.overall_iqm import Stratum, stratified_iqm
from leaderboard.scoring.ranking import chosen_entries, in_order, name_order, rank_intervals, ranks_with_unranked
from leaderboard.scoring.score_all import (
    LEAST_COUNTED,
    MOST_COUNTED,
    CommonScale,
    ScoredResults,
    common_scale,
    counted_scores,
)

# From this many entries on, a second process resamples most of them, and this one a share after the tasks' tables.
BACKGROUND_ENTRIES, FOREGROUND_SHARE = 250, 0.25
# Equally likely values of a standard normal variable, which show how clipping changes a standard error.
_NORMAL_VALUES = normal_quantiles((np.arange(200) + 0.5) / 200)
# Degrees of freedom are rounded down to one of these, so that few different critical values are needed.
_FREEDOMS = np.array([*range(1, 11), 12, 15, 20, 25, 30, 40, 60, 120, 500])
Version = tuple[AgentName, str]
"""An entry by its name and its digest."""
NOT_MEASURED = Estimate(score=MISSING, low=MISSING, high=MISSING)


class OverallSample(NamedTuple):
    """The uncertainty of an entry's mean of normalised scores across all tasks; a missing score counts 0."""

    centre: float
    """As in `EstimateArrays`."""
    error: float
    size: float
    without_tails: Floats
    """Centre and error without very low values on any task, shape (`FAMILIES`, 2)."""


class _PlayedTask(NamedTuple):
    """What one version plays a task with."""

    pooled_results: PooledResults
    score: float
    tries: int


@dataclass(frozen=True, kw_only=True)
class OverallEntry:
    """An entry with at least one score on a task that counts."""

    entry: Entry
    rows: Mapping[str, TaskRow]
    """Its row on each task, by the task's id; also where another version of its owner holds the place."""
    superseded_by: str | None
    """As in `TaskRow`."""

    @property
    def tries(self) -> int:
        """As `overall_tries` has it."""
        return overall_tries(self.rows.values())

    @property
    def since(self) -> str:
        """When its version had a score on all of its tasks, in UTC."""
        return max(row.since for row in self.rows.values())


def overall_tries(played: Iterable[TaskRow | _PlayedTask]) -> int:
    """The most on any task, since one version counts on all of them, and more where some tasks have more draws than others.

    Somebody may have left just the tasks where chance was against the version, and entered them again. That is a choice
    among many sets of tasks, however few draws each has: each task in it is a try, or each other one, if these are fewer.
    """
    rows = list(played)
    draws = [len(row.pooled_results) for row in rows]
    with_more = [sum(own >= number for own in draws) for number in range(2, max(draws) + 1)]
    return max(row.tries for row in rows) + sum(min(count, len(rows) - count) for count in with_more)


def overall_samples(boards: Sequence[ScoredResults], measured: Sequence[EstimateArrays]) -> dict[AgentName, OverallSample]:
    """The centre, error and size of the weighted mean of each entry's independent scores.

    The degrees of freedom are Welch and Satterthwaite's (Biometrics Bulletin 2, 1946). A score that is clipped has the
    error that `_counted_error` says.
    """
    scales = [(scale, *pair) for pair in zip(boards, measured, strict=True) for scale in common_scale(pair[0].task)]
    total = math.fsum(scale.task.weight for scale, _, _ in scales)
    names = sorted({name for _, board, _ in scales for name in board.names})
    row_of = {name: row for row, name in enumerate(names)}
    centre, variance, spread, has_score = np.zeros((4, len(names)))
    raised, raised_variance = np.zeros((2, len(FAMILIES), len(names)))
    least = np.full(len(names), np.inf)
    for scale, board, estimates in scales:
        scored = np.flatnonzero(~np.isnan(estimates.score))
        rows = np.array([row_of[board.names[index]] for index in scored.tolist()], dtype=np.intp)
        middle, freedom = scale.normalised(estimates.centre[scored]), np.maximum(estimates.size[scored] - 1, 1)
        share = scale.task.weight / total
        unit = abs(scale.one - scale.zero)
        size = estimates.size[scored]
        part = (share * _counted_error(middle, estimates.error[scored] / unit, size)) ** 2
        centre[rows] += share * counted_scores(middle)
        # Where lower is better, what is raised on this scale are the highest values.
        first_way = estimates.without_tails[scored, int(scale.one < scale.zero), 0]
        for family, (value, error) in enumerate(first_way.transpose(1, 2, 0)):
            lifted = scale.normalised(value)
            raised[family, rows] += share * counted_scores(lifted)
            raised_variance[family, rows] += (share * _counted_error(lifted, error / unit, size)) ** 2
        variance[rows] += part
        spread[rows] += part**2 / freedom
        least[rows] = np.minimum(least[rows], freedom)
        has_score[rows] = 1
    is_known = np.isfinite(variance) & (spread > 0)
    freedom = np.where(is_known, variance**2 / np.where(is_known, spread, 1), least)
    size = 1 + _FREEDOMS[np.maximum(np.searchsorted(_FREEDOMS, freedom * (1 + 1e-9), side="right") - 1, 0)]
    columns = zip(
        centre.tolist(),
        np.sqrt(variance).tolist(),
        size.tolist(),
        np.stack([raised, np.sqrt(raised_variance)]).T,
        strict=True,
    )
    samples = [OverallSample(*fields) for fields in columns]
    return {name: sample for name, sample, has in zip(names, samples, has_score, strict=True) if has}


def _counted_error(centre: Floats, error: Floats, size: Floats) -> Floats:
    """The standard error of a counted score, from that of the normalised score, shape (entries,).

    A normal variable after clipping hardly varies where its centre is beyond the range, though a few great or bad returns
    may have brought it there. So the error is at least what the interval's clipped ends say.
    """
    is_known = np.isfinite(error)
    known = np.where(is_known, error, 0)
    drawn = centre[:, None] + known[:, None] * _NORMAL_VALUES
    is_clipped = (drawn[:, 0] < LEAST_COUNTED) | (drawn[:, -1] > MOST_COUNTED)
    margin = critical_value(size, np.ones_like(size))
    ends = counted_scores(centre + np.array([[-1], [1]]) * margin * known)
    reach = np.abs(ends - counted_scores(centre)).max(axis=0) / margin
    return np.where(is_known & is_clipped, np.maximum(deviation(counted_scores(drawn)), reach), error)


def overall_rows(
    boards: Iterable[TaskStandings],
    samples: Mapping[AgentName, OverallSample],
    superseded: Mapping[AgentName, str],
    interquartile_means: Callable[[], Mapping[Version, Estimate]] | None,
) -> tuple[OverallRow, ...]:
    """Rank entries across tasks by the weighted mean over all tasks that have reference scores; a missing score counts 0.

    Args:
        boards: the standings of all tasks.
        samples: the uncertainty of the mean of each entry with a score on such a task.
        superseded: as in `TaskStandings`.
        interquartile_means: of all entries with such a score, as `begin_interquartile_means` has it; None to do without.
    """
    boards = tuple(boards)
    scales = tuple(scale for board in boards for scale in common_scale(board.task))
    contenders = _contenders(boards, scales, superseded)
    if not contenders:
        return ()
    values = np.column_stack([_column(contenders, scale) for scale in scales])
    rows, among_all = zip(*_rows(contenders, scales, values, samples, interquartile_means), strict=True)
    return in_order(rows, among_all, [contender.since for contender in contenders])


def _contenders(
    boards: Iterable[TaskStandings], scales: Iterable[CommonScale], superseded: Mapping[AgentName, str]
) -> list[OverallEntry]:
    counting = {scale.task.id for scale in scales}
    entries: dict[tuple[str, ...], Entry] = {}
    rows_by_name: dict[tuple[str, ...], dict[str, TaskRow]] = {}
    for board in boards:
        for row in board.rows if board.task.id in counting else ():
            name = name_order(row.entry)
            if row.estimate.is_missing:
                continue
            entries[name] = row.entry
            rows_by_name.setdefault(name, {})[board.task.id] = row
    return [
        OverallEntry(entry=entries[name], rows=rows, superseded_by=superseded.get(entries[name].name))
        for name, rows in rows_by_name.items()
    ]


def _rows(
    contenders: Sequence[OverallEntry],
    scales: Sequence[CommonScale],
    values: Floats,
    samples: Mapping[AgentName, OverallSample],
    interquartile_means: Callable[[], Mapping[Version, Estimate]] | None,
) -> Iterator[tuple[OverallRow, int]]:
    """Each row, and its place among all."""
    measured = _estimates(contenders, scales, values, samples)
    unranked = [contender.entry.is_unranked or contender.superseded_by is not None for contender in contenders]
    places, among_all = ranks_with_unranked(unranked, lambda chosen: rank_intervals(chosen_entries(measured, chosen)))
    columns = zip(contenders, places, among_all, intervals(measured), values.tolist(), strict=True)
    iqm_of = interquartile_means() if interquartile_means else {}
    for contender, rank, place, estimate, scores in columns:
        iqm = iqm_of[contender.entry.name, contender.entry.digest] if interquartile_means else NOT_MEASURED
        normalised = {scale.task.id: value_or_none(value) for scale, value in zip(scales, scores, strict=True)}
        row = OverallRow(
            **rank._asdict(), entry=contender.entry, tries=contender.tries, superseded_by=contender.superseded_by,
            estimate=estimate, iqm=iqm, normalised=normalised,
        )  # fmt: skip
        yield row, place


_Played = Mapping[str, _PlayedTask]
"""By task id, without missing scores; not empty."""


@contextmanager
def begin_interquartile_means(
    boards: Sequence[ScoredResults], measured: Sequence[EstimateArrays]
) -> Iterator[Callable[[], Mapping[Version, Estimate]]]:
    """The interquartile mean over all episodes of all tasks; a task without a score is one value of 0.

    A score that is a single number is one value, too. It has no spread to resample, so there is no interval then.

    Yields:
        A function that waits for them. A second process resamples most of the entries while the block runs, which takes
        longer than all the rest of ranking. A process, not a thread: half of the time the interpreter's lock is held.
    """
    scales = [scale for board in boards for scale in common_scale(board.task)]
    played = _played(boards, measured, {scale.task.id for scale in scales})
    versions = list(played)
    here = len(versions) if len(versions) < BACKGROUND_ENTRIES else round(FOREGROUND_SHARE * len(versions))

    def means(chosen: Sequence[Version]) -> list[Estimate]:
        return _resampled_means([played[version] for version in chosen], scales)

    def both(others: Callable[[], list[Estimate]]) -> Mapping[Version, Estimate]:
        return dict(zip(versions, means(versions[:here]) + others(), strict=True))

    with ExitStack() as stack:
        others = stack.enter_context(run_in_background(lambda: means(versions[here:]))) if here < len(versions) else list
        yield lambda: both(others)


def _played(
    boards: Sequence[ScoredResults], measured: Sequence[EstimateArrays], counting: Container[str]
) -> dict[Version, dict[str, _PlayedTask]]:
    """What each version with a score plays tasks with."""
    played: dict[Version, dict[str, _PlayedTask]] = defaultdict(dict)
    for board, estimates in zip(boards, measured, strict=True):
        if board.task.id not in counting:
            continue
        for name, pooled, tries, score in zip(
            board.names, board.pooled_results, board.tries, estimates.score.tolist(), strict=True
        ):
            if not is_missing(score):
                played[name, pooled[-1].submission_digest][board.task.id] = _PlayedTask(pooled, score, tries)
    return played


def _resampled_means(played: Sequence[_Played], scales: Sequence[CommonScale]) -> list[Estimate]:
    if not played:
        return []
    strata = [[_stratum(tasks.get(scale.task.id), scale) for scale in scales] for tasks in played]
    resampled = stratified_iqm(strata)
    # After several tries both ends are as many times as far from the score as for a normal distribution.
    most = np.array([overall_tries(tasks.values()) for tasks in played])
    wider = normal_quantiles(1 - significance_level(most)) / normal_quantile(1 - TAIL)
    low = resampled.score - wider * (resampled.score - resampled.low)
    high = resampled.score + wider * (resampled.high - resampled.score)
    means = []
    for tasks, of_entry, score, *ends in zip(played, strata, resampled.score.tolist(), low, high, strict=True):
        has_spread = all(len(stratum.values) > 1 for stratum in of_entry if stratum.task_id in tasks)
        first, last = map(float, ends) if has_spread else (MISSING, MISSING)
        means.append(Estimate(score=score, low=first, high=last))
    return means


def _stratum(played: _PlayedTask | None, scale: CommonScale) -> Stratum:
    metric = ranking_metric(scale.task)
    if played is None:
        values = np.zeros(1)
    elif any_sealed(played.pooled_results) or episode_metric(scale.task, metric) is None:
        values = scale.normalised(np.array([played.score]))
    else:
        values = scale.normalised(np.array(pooled_episodes(scale.task, metric, played.pooled_results), dtype=np.float64))
    return Stratum(scale.task.id, values)


def _column(contenders: Sequence[OverallEntry], scale: CommonScale) -> Floats:
    """Normalised scores on one task, shape (contenders,); NaN if missing."""
    rows = [contender.rows.get(scale.task.id) for contender in contenders]
    return scale.normalised(np.array([row.estimate.score if row else np.nan for row in rows]))


def _estimates(
    contenders: Sequence[OverallEntry],
    scales: Sequence[CommonScale],
    values: Floats,
    samples: Mapping[AgentName, OverallSample],
) -> EstimateArrays:
    """The mean over tasks, with its interval."""
    of_contenders = [samples[contender.entry.name] for contender in contenders]
    centre, error, size = np.array([sample[:3] for sample in of_contenders]).T
    raised = np.stack([sample.without_tails for sample in of_contenders])
    score = _weighted(counted_scores(values), scales)
    tries = np.array([contender.tries for contender in contenders], dtype=np.float64)
    margin = critical_value(size, tries) * np.where(np.isfinite(error), error, np.nan)
    low = np.minimum(np.maximum(centre - margin, LEAST_COUNTED), score)
    high = np.maximum(np.minimum(centre + margin, MOST_COUNTED), score)
    # A rounded score of a sealed season has no interval; an interval of width 0 would claim certainty.
    is_sealed = [any(any_sealed(row.pooled_results) for row in contender.rows.values()) for contender in contenders]
    low[is_sealed], high[is_sealed] = np.nan, np.nan
    return EstimateArrays(
        score=score, low=low, high=high, centre=centre, error=error, size=size, tries=tries,
        without_tails=np.stack([raised[:, None], without_any_tails(centre, error)[:, 0]], axis=1),
    )  # fmt: skip


def _weighted(values: Floats, scales: Sequence[CommonScale]) -> Floats:
    """The weighted mean of each row, exactly rounded where all weights are equal."""
    shares = np.array([scale.task.weight for scale in scales])
    means = row_sums(values * shares) / math.fsum(shares)
    # The mean of n equal numbers may differ from them by rounding.
    rounded: Floats = np.clip(means, values.min(axis=1), values.max(axis=1))
    return rounded
