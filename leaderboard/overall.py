"""The overall board: one number across all tasks of the season.

Only tasks with both anchors, `random` and `reference`, can be put on one scale; the others are left out entirely.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.model.challenge import Task
from leaderboard.estimate import ENDS, Estimates, centres, deviation, intervals, scores, sizes, standard_error
from leaderboard.rank import name_order, ranks
from leaderboard.resampling import RESAMPLES, Array, Indices, resampled_scores
from leaderboard.standings import Entry, OverallRow, Row, TaskBoard

# A normalised score counts no less and no more than this.
LEAST, MOST = -1.0, 2.0
# So many entries are resampled at once, which bounds the memory.
CHUNK = 2000


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
    """Rank entries across tasks, by the mean over all tasks that have anchors; what is missing counts 0."""
    boards = tuple(boards)
    scales = tuple(scale for board in boards for scale in _scale(board.task))
    contenders = _contenders(boards, scales)
    if not contenders:
        return ()
    values = np.column_stack([_column(contenders, scale) for scale in scales])
    rows = zip(contenders, _rows(contenders, scales, values), strict=True)
    ordered = sorted(rows, key=lambda pair: (pair[1].place, pair[0].since, name_order(pair[0].entry)))
    return tuple(row for _, row in ordered)


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
            entries[name] = row.entry
            found.setdefault(name, {})[board.task.id] = row
    return [Contender(entry=entries[name], rows=rows) for name, rows in found.items()]


def _rows(contenders: Sequence[Contender], scales: Sequence[Scale], values: Array) -> Iterator[OverallRow]:
    measured = _estimates(contenders, scales, values)
    iqm = scores(np.sort(np.nan_to_num(values)), "iqm")
    columns = zip(contenders, ranks(measured), intervals(measured), iqm.tolist(), values.tolist(), strict=True)
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
    low, high, centre, error, size = np.hstack([_resampled(chunk, scales) for chunk in chunks])
    score = scores(np.sort(np.nan_to_num(values)), "mean")
    low, high = np.minimum(low, score), np.maximum(high, score)
    return Estimates(score=score, low=low, high=high, centre=centre, error=error, size=size)


def _resampled(contenders: Sequence[Contender], scales: Sequence[Scale]) -> Array:
    """Lower end, upper end, centre, standard error and smallest sample of each, shape (5, contenders)."""
    drawn, centre = np.zeros((len(contenders), RESAMPLES)), np.zeros(len(contenders))
    size = np.full(len(contenders), np.inf)
    for scale in scales:
        having, returns = _having(contenders, scale.task)
        for rows, block in resampled_scores(returns, scale.task):
            drawn[having[rows]] += scale.normalised(block) / len(scales)
        centre[having] += scale.normalised(centres(returns, scale.task)) / len(scales)
        size[having] = np.minimum(size[having], sizes(returns, scale.task))
    ends = np.quantile(drawn, ENDS, axis=1)
    return np.vstack([ends, centre, standard_error(deviation(drawn), size), size])


def _having(contenders: Sequence[Contender], task: Task) -> tuple[Indices, list[Sequence[float]]]:
    """Which of the contenders have a score on the task, and their returns."""
    rows = [(i, row) for i, one in enumerate(contenders) if (row := one.rows.get(task.id))]
    return np.array([i for i, _ in rows], dtype=np.intp), [row.result.returns for _, row in rows]
