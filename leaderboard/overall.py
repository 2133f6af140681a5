"""The overall board: one number across all tasks of the season.

Only tasks with both anchors, `random` and `reference`, can be put on one scale; the others are left out entirely.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evaluator.model.challenge import Task
from evaluator.model.metric import GROUPS
from leaderboard.estimate import Estimates, centres, deviation, ends, intervals, scores, sizes, standard_error
from leaderboard.estimate import values as scores_of
from leaderboard.metrics import episode_values, is_any_sealed, ranking, single_error, yardstick
from leaderboard.rank import name_order, ranks_beside
from leaderboard.resampling import RESAMPLES, THREADS, Array, Indices, resampled_scores, stream
from leaderboard.standings import Entry, OverallRow, Row, TaskBoard

# A normalised score counts no less and no more than this.
LEAST, MOST = -1.0, 2.0
# So many entries are resampled at once, which bounds the memory: four megabytes, less than a processor's cache.
CHUNK = 250


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The anchors of a task."""

    task: Task
    """Whose they are."""
    zero: float
    """The random agent's score."""
    one: float
    """The reference's score."""

    def normalised(self, score: Array) -> Array:
        """Scores of any shape on the common scale, clipped."""
        return np.clip((score - self.zero) / (self.one - self.zero), LEAST, MOST)


@dataclass(frozen=True, kw_only=True)
class Contender:
    """An entry with at least one score on a task that counts."""

    entry: Entry
    """Who."""
    rows: Mapping[str, Row]
    """Its row on the board of each task, by the task's id."""

    @property
    def since(self) -> str:
        """When its overall score was complete, in UTC."""
        return max(row.result.provenance.evaluated_at for row in self.rows.values())


def overall(boards: Iterable[TaskBoard]) -> tuple[OverallRow, ...]:
    """Rank entries across tasks, by the weighted mean over all tasks that have anchors; what is missing counts 0."""
    boards = tuple(boards)
    scales = tuple(scale for board in boards for scale in _scale(board.task))
    contenders = _contenders(boards, scales)
    if not contenders:
        return ()
    values = np.column_stack([_column(contenders, scale) for scale in scales])
    rows = zip(contenders, _rows(contenders, scales, values), strict=True)

    def order(pair: tuple[Contender, OverallRow]) -> tuple[int, bool, str, tuple[str, ...]]:
        contender, row = pair
        return row.place, not contender.entry.is_aside, contender.since, name_order(contender.entry)

    return tuple(row for _, row in sorted(rows, key=order))


def _scale(task: Task) -> Iterator[Scale]:
    if task.random and task.reference:
        yield Scale(task=task, zero=task.random.score, one=task.reference.score)


def _contenders(boards: Iterable[TaskBoard], scales: Iterable[Scale]) -> list[Contender]:
    counted = {scale.task.id for scale in scales}
    entries: dict[tuple[str, ...], Entry] = {}
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    for board in boards:
        for row in board.rows if board.task.id in counted else ():
            name = name_order(row.entry)
            if row.estimate.is_missing:
                continue
            entries[name] = row.entry
            found.setdefault(name, {})[board.task.id] = row
    return [Contender(entry=entries[name], rows=rows) for name, rows in found.items()]


def _rows(contenders: Sequence[Contender], scales: Sequence[Scale], values: Array) -> Iterator[OverallRow]:
    measured = _estimates(contenders, scales, values)
    iqm = scores(np.sort(np.nan_to_num(values)), "iqm")
    places = ranks_beside(measured, [contender.entry.is_aside for contender in contenders])
    columns = zip(contenders, places, intervals(measured), iqm.tolist(), values.tolist(), strict=True)
    for contender, rank, estimate, middle, own in columns:
        known = {scale.task.id: value for scale, value in zip(scales, own, strict=True)}
        normalised = {task_id: None if math.isnan(value) else value for task_id, value in known.items()}
        yield OverallRow(**rank._asdict(), entry=contender.entry, estimate=estimate, iqm=middle, normalised=normalised)


def _column(contenders: Sequence[Contender], scale: Scale) -> Array:
    """Normalised scores on one task, shape (contenders,); NaN where there is none."""
    rows = [contender.rows.get(scale.task.id) for contender in contenders]
    return scale.normalised(np.array([row.estimate.score if row else np.nan for row in rows]))


def _estimates(contenders: Sequence[Contender], scales: Sequence[Scale], values: Array) -> Estimates:
    """The mean over tasks, with the interval of episodes resampled within each task."""
    chunks = [contenders[start : start + CHUNK] for start in range(0, len(contenders), CHUNK)]
    with ThreadPoolExecutor(THREADS) as pool:
        drawn = list(pool.map(lambda chunk: _resampled(chunk, scales), chunks))
    low, high, centre, error, size = np.hstack(drawn)
    score = _weighted(np.nan_to_num(values), scales)
    low, high = np.minimum(low, score), np.maximum(high, score)
    # A rounded score of a sealed season has no interval; one of no width would be a certainty.
    closed = [is_any_sealed(row.result for row in contender.rows.values()) for contender in contenders]
    low[closed], high[closed] = np.nan, np.nan
    return Estimates(score=score, low=low, high=high, centre=centre, error=error, size=size)


def _weighted(values: Array, scales: Sequence[Scale]) -> Array:
    """The weighted mean of each row, exactly rounded where all weights are equal."""
    shares = np.array([scale.task.weight for scale in scales])
    means = np.array([math.fsum(row) for row in (values * shares).tolist()]) / math.fsum(shares)
    # The mean of n equal numbers may miss them by a rounding.
    rounded: Array = np.clip(means, values.min(axis=1), values.max(axis=1))
    return rounded


def _resampled(contenders: Sequence[Contender], scales: Sequence[Scale]) -> Array:
    """Lower end, upper end, centre, standard error and smallest sample of each, shape (5, contenders)."""
    drawn, centre = np.zeros((len(contenders), RESAMPLES)), np.zeros(len(contenders))
    size = np.full(len(contenders), np.inf)
    whole = math.fsum(scale.task.weight for scale in scales)
    for scale in scales:
        having, own = _having(contenders, scale.task)
        weight = scale.task.weight
        for rows, block in own.blocks:
            drawn[having[rows]] += scale.normalised(block) * weight / whole
        centre[having] += scale.normalised(own.centre) * weight / whole
        size[having] = np.minimum(size[having], own.size)
    return np.vstack([ends(drawn), centre, standard_error(deviation(drawn), size), size])


class _Drawn(NamedTuple):
    """What one task adds: the scores of its entries, as they might have come out."""

    blocks: Iterable[tuple[Indices, Array]]
    """A few entries at a time, and the scores of their resamples."""
    centre: Array
    """The scores that differences are taken of."""
    size: Array
    """How many values each is made of."""


def _having(contenders: Sequence[Contender], task: Task) -> tuple[Indices, _Drawn]:
    """Which of the contenders have a score on the task, and what that adds."""
    rows = [(i, row) for i, one in enumerate(contenders) if (row := one.rows.get(task.id))]
    having, results = np.array([i for i, _ in rows], dtype=np.intp), [row.result for _, row in rows]
    metric = ranking(task)
    if (how := yardstick(task, metric)) and not is_any_sealed(results):
        found = [episode_values(metric, result) for result in results]
        return having, _Drawn(resampled_scores(found, how), centres(found, how), sizes(found, how))
    centre = np.array(scores_of(results, task, metric), dtype=np.float64)
    error = np.array([single_error(metric, result) for result in results], dtype=np.float64)
    is_known = np.isfinite(error)
    # A single number has no episodes to draw: it is spread as its standard error says, or said to be of one value.
    spread = stream("pullrank-single-1", task.id).standard_normal(RESAMPLES)
    every = np.arange(len(results), dtype=np.intp)
    blocks = ((every[i : i + 1], centre[i] + np.where(is_known[i], error[i], 0.0) * spread[np.newaxis]) for i in every)
    return having, _Drawn(blocks, centre, np.where(is_known, float(GROUPS), 1.0))
