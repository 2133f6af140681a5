"""What a task's metrics say of a result. Which of two values is better is decided here and nowhere else, in `worth`."""

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.model.config.challenge import Task
from evaluator.model.config.metric import Direction, Metric
from evaluator.model.config.training_script import ScriptRules
from evaluator.model.records.result import Result
from leaderboard.scoring import metrics
from leaderboard.scoring.bootstrap import Bounds, Scoring
from leaderboard.text.format import plain


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """The episodes that a script finished, in the order of starting."""

    steps: tuple[int, ...]
    """Environment steps that it had taken in all when each of them ended; never falling."""
    returns: tuple[float, ...]
    """Their returns."""
    rules: ScriptRules
    """The task's budget, window and worst return."""

    def points(self) -> Iterator[tuple[int, float]]:
        """Steps, and the mean of the last `window` returns then; of fewer, while there are no more."""
        for count, steps in enumerate(self.steps, start=1):
            yield steps, mean_curve(self.returns[max(0, count - self.rules.window) : count])


def mean_curve(values: Sequence[float]) -> float:
    """The mean, summed in order."""
    return sum(values) / len(values)


def learning_curve(result: Result, rules: ScriptRules | None) -> LearningCurve | None:
    """The learning curve that a result holds; None if it is no script's, or holds nothing that came to its end."""
    record = result.script
    if record is None or rules is None:
        return None
    abandoned = set(record.unfinished)
    finished = [index not in abandoned for index in range(len(record.returns))]
    return recorded_curve(zip(record.returns, record.lengths, finished, strict=True), rules)


def recorded_curve(episodes: Iterable[tuple[float, int, bool]], rules: ScriptRules) -> LearningCurve | None:
    """The curve of episodes in order: the return of each, its length, and whether it came to its end.

    An abandoned episode is no point of the curve, but its steps were taken. None without a finished one.
    """
    steps, returns, taken = [], [], 0
    for total, length, is_finished in episodes:
        taken += length
        if is_finished:
            steps.append(taken)
            returns.append(total)
    return LearningCurve(steps=tuple(steps), returns=tuple(returns), rules=rules) if steps else None


def steps_to_threshold(found: LearningCurve, threshold: float) -> float | None:
    """Steps until the mean of the last `window` returns was as high as the threshold.

    It takes a full window: one lucky episode is no skill. None if that never came: worse than any number of steps.
    """
    full = list(found.points())[found.rules.window - 1 :]
    return next((float(steps) for steps, value in full if value >= threshold), None)


def area_under_curve(found: LearningCurve, _: float = 0.0) -> float:
    """The mean height of the curve over the whole budget of steps, as a return.

    Before the first episode ends the height is the task's worst return; each point holds until the next one, and the
    last one until the budget ends. What ends beyond the budget has no part in it.
    """
    area, since, height = 0.0, 0, found.rules.worst
    for steps, value in found.points():
        until = min(steps, found.rules.steps)
        area += height * (until - since)
        since, height = until, value
    return (area + height * (found.rules.steps - since)) / found.rules.steps


# A value that there is not: shown as a dash, ranked behind everything, and never taken for 0.
MISSING = math.nan
_SCORINGS: dict[str, Scoring] = {"iqm_return": "iqm", "median_return": "median"}
_CURVES: dict[str, Callable[[metrics.LearningCurve, float], float | None]] = {
    "steps_to_threshold": metrics.steps_to_threshold,
    "area_under_curve": metrics.area_under_curve,
}


@dataclass(frozen=True, kw_only=True)
class EpisodeMetric:
    """How the values of episodes become one number: all that the bootstrap needs to know of a metric."""

    id: str
    """The task's: the same resamples for all its metrics."""
    score: Scoring
    """Mean, interquartile mean or median."""
    bounds: Bounds
    """The least and the greatest value that an episode can have."""


def metrics_of(task: Task) -> tuple[Metric, ...]:
    """Everything that its board shows of a result; the first one ranks."""
    return task.metrics or (_score(task.score, task.decimals),)


@functools.cache
def _score(scoring: Scoring, decimals: int) -> Metric:
    """Asked for row by row, and always the same."""
    kind = "mean_return" if scoring == "mean" else "iqm_return"
    return Metric(name="Score", kind=kind, direction=Direction.HIGHER, decimals=decimals)


def ranking(task: Task) -> Metric:
    """The one that ranks."""
    return metrics_of(task)[0]


def other_metrics(task: Task) -> tuple[Metric, ...]:
    """Those that are only shown."""
    return task.metrics[1:]


def oriented_value(metric: Metric, value: float) -> float:
    """A value such that greater is better."""
    return metric.sign * value


def oriented_return(task: Task, value: float) -> float:
    """A return such that greater is better; where something else than returns ranks, that is the greater return."""
    first = ranking(task)
    return oriented_value(first, value) if first.kind.endswith("_return") else value


def is_missing(value: float) -> bool:
    """Whether there is no value."""
    return math.isnan(value)


def known_metrics(value: float) -> float | None:
    """The value; None if there is none, as documents say it."""
    return None if is_missing(value) else value


def digits(task: Task) -> int:
    """Digits after the point of what ranks."""
    return ranking(task).decimals


def arrow(metric: Metric) -> str:
    """Which way is better, for the eye."""
    return "↑" if metric.direction is Direction.HIGHER else "↓"


def better(metric: Metric) -> str:
    """Which way is better, in words."""
    return f"{metric.direction.value} is better"


def measures(metric: Metric) -> str:
    """What it is, in words."""
    threshold = "" if metric.threshold is None else plain(metric.threshold)
    words = {
        "mean_return": "mean return",
        "iqm_return": "interquartile mean of returns",
        "median_return": "median return",
        "success_rate": f"share of episodes with a return of at least {threshold}",
        "mean_length": "mean length of an episode in steps",
        "steps_to_threshold": f"steps until the learning curve reached {threshold}",
        "area_under_curve": "mean height of the learning curve",
    }
    return words.get(metric.kind, f"the host’s own {metric.kind}")


def episode_metric(task: Task, metric: Metric) -> EpisodeMetric | None:
    """How it is made of the values of episodes; None if it is a single number."""
    match metric.kind:
        case "mean_return" | "iqm_return" | "median_return":
            return EpisodeMetric(id=task.id, score=_SCORINGS.get(metric.kind, "mean"), bounds=task.bounds)
        case "success_rate":
            return EpisodeMetric(id=task.id, score="mean", bounds=(0, 1))
        case "mean_length":
            return EpisodeMetric(id=task.id, score="mean", bounds=None)
    return None


def episode_values(metric: Metric, result: Result) -> Sequence[float]:
    """The value of each episode, for a metric with a yardstick."""
    match metric.kind:
        case "success_rate":
            threshold = metric.threshold or 0.0
            return [float(value >= threshold) for value in result.returns]
        case "mean_length":
            return result.lengths
    return result.returns


def any_sealed(results: Iterable[Result]) -> bool:
    """Whether some of the results show one rounded score and no episodes."""
    return any(result.sealed for result in results)


def single_value(task: Task, metric: Metric, result: Result) -> float:
    """The number of a metric that is not made of the values of episodes, or of a sealed result, which shows but one."""
    if result.sealed:
        score = result.sealed.score
        return score if score is not None and metric == ranking(task) else MISSING
    if metric.is_own:
        return result.metrics.get(metric.kind, MISSING)
    curve = metrics.learning_curve(result, task.script)
    found = _CURVES[metric.kind](curve, metric.threshold or 0.0) if curve else None
    return MISSING if found is None else found


def single_value_error(metric: Metric, result: Result) -> float:
    """Its standard error; infinite where one number says nothing of the spread."""
    return result.metrics.get(metric.error_key, np.inf) if metric.is_own and not result.sealed else np.inf


def by_value(values: Iterable[tuple[Metric, float]]) -> tuple[tuple[bool, float], ...]:
    """A sort key, the better first: value after value, each missing one behind all others."""
    return tuple(
        (is_missing(value), 0.0 if is_missing(value) else -oriented_value(metric, value)) for metric, value in values
    )
