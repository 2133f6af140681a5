"""The overall leaderboard: one number across all tasks of the season.

Only tasks with both anchors, `random` and `reference`, have normalised scores; the others are left out.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.core.entry import AgentName
from leaderboard.core.standings import Entry, OverallRow, Row, TaskStandings
from leaderboard.scoring.bootstrap import Floats
from leaderboard.scoring.intervals import EstimateArrays, critical_value, intervals, scores
from leaderboard.scoring.metrics import any_sealed, value_or_none
from leaderboard.scoring.ranking import name_order, ranks_beside
from leaderboard.scoring.score_all import HIGHEST_NORMALISED, LOWEST_NORMALISED, CommonScale, OverallSample, common_scale


@dataclass(frozen=True, kw_only=True)
class OverallEntry:
    """An entry with at least one score on a task that counts."""

    entry: Entry
    rows: Mapping[str, Row]
    """Its row on each task, by the task's id."""

    @property
    def tries(self) -> int:
        """The most on any task: one version counts on all of them."""
        return max(row.tries for row in self.rows.values())

    @property
    def since(self) -> str:
        """When its overall score was complete, in UTC."""
        return max(row.result.provenance.evaluated_at for row in self.rows.values())


def overall_rows(boards: Iterable[TaskStandings], columns: Mapping[AgentName, OverallSample]) -> tuple[OverallRow, ...]:
    """Rank entries across tasks by the weighted mean over all tasks that have anchors; a missing score counts 0.

    Args:
        boards: the standings of all tasks.
        columns: the resampled mean of each entry with a score on such a task.
    """
    boards = tuple(boards)
    scales = tuple(scale for board in boards for scale in common_scale(board.task))
    contenders = _contenders(boards, scales)
    if not contenders:
        return ()
    values = np.column_stack([_column(contenders, scale) for scale in scales])
    rows = zip(contenders, _rows(contenders, scales, values, columns), strict=True)

    def order(pair: tuple[OverallEntry, OverallRow]) -> tuple[int, bool, str, tuple[str, ...]]:
        contender, row = pair
        return row.place, not contender.entry.is_aside, contender.since, name_order(contender.entry)

    return tuple(row for _, row in sorted(rows, key=order))


def _contenders(boards: Iterable[TaskStandings], scales: Iterable[CommonScale]) -> list[OverallEntry]:
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
    return [OverallEntry(entry=entries[name], rows=rows) for name, rows in rows_by_name.items()]


def _rows(
    contenders: Sequence[OverallEntry],
    scales: Sequence[CommonScale],
    values: Floats,
    drawn: Mapping[AgentName, OverallSample],
) -> Iterator[OverallRow]:
    measured = _estimates(contenders, scales, values, drawn)
    iqm = scores(np.sort(np.nan_to_num(values)), "iqm")
    places = ranks_beside(measured, [contender.entry.is_aside for contender in contenders])
    columns = zip(contenders, places, intervals(measured), iqm.tolist(), values.tolist(), strict=True)
    for contender, rank, estimate, middle, row in columns:
        normalised = {scale.task.id: value_or_none(value) for scale, value in zip(scales, row, strict=True)}
        yield OverallRow(
            **rank._asdict(),
            entry=contender.entry,
            tries=contender.tries,
            estimate=estimate,
            iqm=middle,
            normalised=normalised,
        )


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
    score = _weighted(np.nan_to_num(values), scales)
    tries = np.array([contender.tries for contender in contenders], dtype=np.float64)
    margin = critical_value(size, tries) * np.where(np.isfinite(error), error, np.nan)
    low = np.minimum(np.maximum(centre - margin, LOWEST_NORMALISED), score)
    high = np.maximum(np.minimum(centre + margin, HIGHEST_NORMALISED), score)
    # A rounded score of a sealed season has no interval; an interval of width 0 would claim certainty.
    is_sealed = [any_sealed(row.result for row in contender.rows.values()) for contender in contenders]
    low[is_sealed], high[is_sealed] = np.nan, np.nan
    return EstimateArrays(score=score, low=low, high=high, centre=centre, error=error, size=size, tries=tries)


def _weighted(values: Floats, scales: Sequence[CommonScale]) -> Floats:
    """The weighted mean of each row, exactly rounded where all weights are equal."""
    shares = np.array([scale.task.weight for scale in scales])
    means = np.array([math.fsum(row) for row in (values * shares).tolist()]) / math.fsum(shares)
    # The mean of n equal numbers may differ from them by rounding.
    rounded: Floats = np.clip(means, values.min(axis=1), values.max(axis=1))
    return rounded
