"""All boards measured at once, so that each result is resampled once: for its task and for the overall board."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evaluator.model.config.challenge import Task
from evaluator.model.config.metric import GROUPS
from evaluator.model.records.result import Result
from leaderboard.core.entry import AgentName
from leaderboard.core.parallel import run_in_background
from leaderboard.scoring.bootstrap import RESAMPLES, Array, Indices, random_stream
from leaderboard.scoring.intervals import (
    EstimateArrays,
    deviation,
    estimates,
    measured_estimate,
    percentile_interval,
    standard_error,
)
from leaderboard.scoring.metrics import EpisodeMetric, any_sealed, episode_metric, episode_values, ranking

# A normalised score counts no less and no more than this.
LEAST, MOST = -1.0, 2.0


@dataclass(frozen=True, kw_only=True)
class CommonScale:
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


def common_scale(task: Task) -> Iterator[CommonScale]:
    """The task's scale, if it has both anchors."""
    if task.random and task.reference:
        yield CommonScale(task=task, zero=task.random.score, one=task.reference.score)


# So many entries are resampled at once, which bounds the memory: four megabytes, less than a processor's cache.
CHUNK = 250


@dataclass(frozen=True, kw_only=True)
class ScoredTasks:
    """The results of one task that have a score."""

    task: Task
    """Which task."""
    names: Sequence[AgentName]
    """Whose they are."""
    results: Sequence[Result]
    """One each, in the order of the names."""


class OverallSample(NamedTuple):
    """What an entry's resamples amount to across all tasks on the common scale; what is missing counts 0."""

    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""
    centre: float
    """The score that differences are taken of."""
    error: float
    """Its standard error."""
    size: float
    """Of how many values its smallest sample is."""


def score_all(boards: Sequence[ScoredTasks]) -> tuple[list[EstimateArrays], dict[AgentName, OverallSample]]:
    """The estimates of every board, and of everybody with a score on the common scale what the overall board needs."""
    known = [_TaskData(scores) for scores in boards]
    names = sorted({name for one in known for name in one.place})
    chunks = [names[begin : begin + CHUNK] for begin in range(0, len(names), CHUNK)]
    first, second = chunks[0::2], chunks[1::2]
    # Not two threads: half of the time goes into what only one thread of a process may do.
    with run_in_background(lambda: _parts(second, known)) if second else nullcontext(list) as others:
        parts = _parts(first, known) + others()
    columns: dict[AgentName, OverallSample] = {}
    for part in parts:
        columns |= part.columns
        for one, (places, found) in zip(known, part.boards, strict=True):
            for column, values in zip(one.found, found, strict=True):
                column[places] = values
    return [one.found for one in known], columns


class _TaskData:
    """One board, and what is known of it before anything is resampled."""

    def __init__(self, scores: ScoredTasks) -> None:
        self.task, self.results = scores.task, scores.results
        self.metric = ranking(scores.task)
        self.scales = tuple(common_scale(scores.task))
        self.place = {name: index for index, name in enumerate(scores.names)}
        self.how = None if any_sealed(self.results) else episode_metric(self.task, self.metric)
        """How scores are made of episodes; None where they are single numbers, and known."""
        blank = np.empty((len(EstimateArrays._fields), len(self.results)))
        self.found = EstimateArrays(*blank) if self.how else measured_estimate(self.results, self.task)


class _TaskSlice(NamedTuple):
    """What a few entries amount to."""

    boards: list[tuple[Indices, EstimateArrays]]
    """On each board: where their results stand, and what those say."""
    columns: dict[AgentName, OverallSample]
    """Across all tasks."""


class _OverallAccumulator:
    """Resamples of a few entries on the common scale, added up over tasks."""

    def __init__(self, count: int, whole: float) -> None:
        self.drawn, self.centre = np.zeros((count, RESAMPLES)), np.zeros(count)
        self.size, self._whole = np.full(count, np.inf), whole

    def add(self, scale: CommonScale, rows: Indices, drawn: Array) -> None:
        """Scores of resamples, shape (rows, RESAMPLES)."""
        self.drawn[rows] += scale.normalised(drawn) * scale.task.weight / self._whole

    def finish(self, scale: CommonScale, rows: Indices, centre: Array, size: Array) -> None:
        """What else the task adds, shape (rows,) each."""
        self.centre[rows] += scale.normalised(centre) * scale.task.weight / self._whole
        self.size[rows] = np.minimum(self.size[rows], size)

    def columns(self, names: Sequence[AgentName]) -> dict[AgentName, OverallSample]:
        """Of whoever has a score at all."""
        error = standard_error(deviation(self.drawn), self.size)
        columns = np.vstack([percentile_interval(self.drawn), self.centre, error, self.size]).T.tolist()
        return {name: OverallSample(*one) for name, one in zip(names, columns, strict=True) if np.isfinite(one[-1])}


def _parts(chunks: Iterable[Sequence[AgentName]], boards: Sequence[_TaskData]) -> list[_TaskSlice]:
    whole = math.fsum(scale.task.weight for board in boards for scale in board.scales)
    return [_part(names, boards, whole) for names in chunks]


def _part(names: Sequence[AgentName], boards: Sequence[_TaskData], whole: float) -> _TaskSlice:
    total, found = _OverallAccumulator(len(names), whole), []
    for board in boards:
        rows = np.array([row for row, name in enumerate(names) if name in board.place], dtype=np.intp)
        places = np.array([board.place[names[row]] for row in rows.tolist()], dtype=np.intp)
        own = _resampled(board, board.how, rows, places, total) if board.how else _spread(board, rows, places, total)
        found.append((places, own))
    return _TaskSlice(found, total.columns(names) if whole else {})


def _resampled(
    board: _TaskData, how: EpisodeMetric, rows: Indices, places: Indices, total: _OverallAccumulator
) -> EstimateArrays:
    """Each result with its episodes resampled."""

    def see(part: Indices, drawn: Array) -> None:
        for scale in board.scales:
            total.add(scale, rows[part], drawn)

    values = [episode_values(board.metric, board.results[place]) for place in places.tolist()]
    found = estimates(values, how, see)
    for scale in board.scales:
        total.finish(scale, rows, found.centre, found.size)
    return found


def _spread(board: _TaskData, rows: Indices, places: Indices, total: _OverallAccumulator) -> EstimateArrays:
    """Single numbers have no episodes to draw: each is spread as its standard error says, or said to be of one value."""
    found = EstimateArrays(*(column[places] for column in board.found))
    there = np.flatnonzero(~np.isnan(found.score))
    is_known = np.isfinite(found.error)
    spread = random_stream("pullrank-single-1", board.task.id).standard_normal(RESAMPLES)
    for scale in board.scales:
        for i in there:
            drawn = found.score[i] + (found.error[i] if is_known[i] else 0.0) * spread
            total.add(scale, rows[i : i + 1], drawn[np.newaxis])
        total.finish(scale, rows[there], found.score[there], np.where(is_known, float(GROUPS), 1.0)[there])
    return found
