"""Estimates of all tasks and of the overall leaderboard in one pass, so that each result is resampled only once."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evaluator.model.config.challenge import Task
from evaluator.model.config.metric import JACKKNIFE_GROUPS
from leaderboard.core.entry import AgentName
from leaderboard.core.parallel import run_in_background
from leaderboard.scoring.bootstrap import RESAMPLES, Floats, Indices, random_stream, resampled_scores
from leaderboard.scoring.intervals import (
    Draws,
    EstimateArrays,
    deviation,
    estimates,
    pooled_episodes,
    pooled_estimate,
    standard_error,
)
from leaderboard.scoring.metrics import EpisodeMetric, any_sealed, episode_metric, ranking

# Normalised scores are clipped to this range.
LOWEST_NORMALISED, HIGHEST_NORMALISED = -1.0, 2.0


@dataclass(frozen=True, kw_only=True)
class CommonScale:
    """The scale of normalised scores of a task, given by its anchors."""

    task: Task
    zero: float
    """The random agent's score."""
    one: float
    """The reference's score."""

    def normalised(self, score: Floats) -> Floats:
        """Scores of any shape, normalised and clipped."""
        return np.clip((score - self.zero) / (self.one - self.zero), LOWEST_NORMALISED, HIGHEST_NORMALISED)


def common_scale(task: Task) -> Iterator[CommonScale]:
    """Yield the task's scale if it has both anchors."""
    if task.random and task.reference:
        yield CommonScale(task=task, zero=task.random.score, one=task.reference.score)


# So many entries are resampled at once: four megabytes, which fit a processor's cache.
CHUNK_ENTRIES = 250


@dataclass(frozen=True, kw_only=True)
class ScoredTasks:
    """The results of one task that have a score."""

    task: Task
    names: Sequence[AgentName]
    draws: Sequence[Draws]
    """The pooled results of each name."""
    tries: Sequence[int]
    """As in `EstimateArrays`, for each name."""


class OverallSample(NamedTuple):
    """An entry's resampled mean of normalised scores across all tasks; a missing score counts 0."""

    centre: float
    """As in `EstimateArrays`."""
    error: float
    size: float
    """Size of its smallest sample."""


def score_all(boards: Sequence[ScoredTasks]) -> tuple[list[EstimateArrays], dict[AgentName, OverallSample]]:
    """The estimates of every task, and what the overall leaderboard needs of each entry with a normalised score."""
    tasks = [_TaskData(scores) for scores in boards]
    names = sorted({name for task in tasks for name in task.position})
    chunks = [names[begin : begin + CHUNK_ENTRIES] for begin in range(0, len(names), CHUNK_ENTRIES)]
    first, second = chunks[0::2], chunks[1::2]
    # A second process, not a thread: half of the time is spent holding the interpreter's lock.
    with run_in_background(lambda: _estimate_chunks(second, tasks)) if second else nullcontext(list) as others:
        slices = _estimate_chunks(first, tasks) + others()
    columns: dict[AgentName, OverallSample] = {}
    for part in slices:
        columns |= part.columns
        for task, (positions, estimated) in zip(tasks, part.tasks, strict=True):
            for column, values in zip(task.estimates, estimated, strict=True):
                column[positions] = values
    return [task.estimates for task in tasks], columns


class _TaskData:
    """One task before its results are resampled."""

    def __init__(self, scores: ScoredTasks) -> None:
        self.task, self.draws, self.tries = scores.task, scores.draws, scores.tries
        self.metric = ranking(scores.task)
        self.scales = tuple(common_scale(scores.task))
        self.position = {name: index for index, name in enumerate(scores.names)}
        is_sealed = any_sealed(result for pooled in self.draws for result in pooled)
        self.how = None if is_sealed else episode_metric(self.task, self.metric)
        """How scores are computed from episodes; None if they are single numbers."""
        blank = np.empty((len(EstimateArrays._fields), len(self.draws)))
        self.estimates = EstimateArrays(*blank) if self.how else pooled_estimate(self.draws, self.task, self.tries)


class _TaskSlice(NamedTuple):
    """The estimates of a few entries."""

    tasks: list[tuple[Indices, EstimateArrays]]
    """For each task the positions of their results, and their estimates."""
    columns: dict[AgentName, OverallSample]


class _OverallAccumulator:
    """The normalised resamples of a few entries, summed over tasks by weight."""

    def __init__(self, count: int, total_weight: float) -> None:
        self.drawn, self.centre = np.zeros((count, RESAMPLES)), np.zeros(count)
        self.size, self._total_weight = np.full(count, np.inf), total_weight

    def add(self, scale: CommonScale, rows: Indices, drawn: Floats) -> None:
        """Add the scores of a task's resamples, shape (rows, RESAMPLES)."""
        self.drawn[rows] += scale.normalised(drawn) * scale.task.weight / self._total_weight

    def finish(self, scale: CommonScale, rows: Indices, centre: Floats, size: Floats) -> None:
        """Add a task's centres and sample sizes, shape (rows,) each."""
        self.centre[rows] += scale.normalised(centre) * scale.task.weight / self._total_weight
        self.size[rows] = np.minimum(self.size[rows], size)

    def columns(self, names: Sequence[AgentName]) -> dict[AgentName, OverallSample]:
        """The samples of the entries that have a score."""
        error = standard_error(deviation(self.drawn), self.size)
        columns = np.vstack([self.centre, error, self.size]).T.tolist()
        return {name: OverallSample(*fields) for name, fields in zip(names, columns, strict=True) if np.isfinite(fields[-1])}


def _estimate_chunks(chunks: Iterable[Sequence[AgentName]], tasks: Sequence[_TaskData]) -> list[_TaskSlice]:
    total_weight = math.fsum(scale.task.weight for task in tasks for scale in task.scales)
    return [_estimate_chunk(names, tasks, total_weight) for names in chunks]


def _estimate_chunk(names: Sequence[AgentName], tasks: Sequence[_TaskData], total_weight: float) -> _TaskSlice:
    overall, estimated = _OverallAccumulator(len(names), total_weight), []
    for task in tasks:
        rows = np.array([row for row, name in enumerate(names) if name in task.position], dtype=np.intp)
        positions = np.array([task.position[names[row]] for row in rows.tolist()], dtype=np.intp)
        if task.how:
            estimated.append((positions, _resampled(task, task.how, rows, positions, overall)))
        else:
            estimated.append((positions, _single_values(task, rows, positions, overall)))
    return _TaskSlice(estimated, overall.columns(names) if total_weight else {})


def _resampled(
    task: _TaskData, how: EpisodeMetric, rows: Indices, positions: Indices, overall: _OverallAccumulator
) -> EstimateArrays:
    """Estimates of results whose episodes are resampled."""
    values = [pooled_episodes(task.metric, task.draws[position]) for position in positions.tolist()]
    estimated = estimates(values, how, [task.tries[position] for position in positions.tolist()])
    for scale in task.scales:
        for part, drawn in resampled_scores(values, how):
            overall.add(scale, rows[part], drawn)
        overall.finish(scale, rows, estimated.centre, estimated.size)
    return estimated


def _single_values(task: _TaskData, rows: Indices, positions: Indices, overall: _OverallAccumulator) -> EstimateArrays:
    """Estimates of single numbers: normally distributed by their standard error, or constant without one."""
    estimated = EstimateArrays(*(column[positions] for column in task.estimates))
    scored = np.flatnonzero(~np.isnan(estimated.score))
    has_error = np.isfinite(estimated.error)
    normal = random_stream("pullrank-single-1", task.task.id).standard_normal(RESAMPLES)
    for scale in task.scales:
        for i in scored:
            drawn = estimated.score[i] + (estimated.error[i] if has_error[i] else 0.0) * normal
            overall.add(scale, rows[i : i + 1], drawn[np.newaxis])
        overall.finish(
            scale, rows[scored], estimated.score[scored], np.where(has_error, float(JACKKNIFE_GROUPS), 1.0)[scored]
        )
    return estimated
