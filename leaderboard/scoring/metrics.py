"""Metrics of a task: their values for a result. Only `oriented_value` decides which of two values is better."""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.model.config.metric import Direction, Metric
from evaluator.model.config.task import Task
from evaluator.model.config.training_script import ScriptRules
from evaluator.model.records.result import Result
from leaderboard.scoring.bootstrap import Bounds, Scoring
from leaderboard.text.format import plain


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """The episodes of a script, in the order of starting; one that it left has the task's worst return."""

    steps: tuple[int, ...]
    """Total environment steps when each episode, and all that were begun before it, had ended; never decreasing."""
    played: tuple[int, ...]
    """The steps of each episode and of all that were begun before it."""
    skipped: tuple[int, ...]
    """Steps of the longest episode, for each one that was left until then."""
    returns: tuple[float, ...]
    rules: ScriptRules
    is_whole: bool = True
    """Whether all episodes that count came to their ends."""

    def points(self) -> Iterator[tuple[int, float]]:
        """Steps, and the mean of the last `window` returns at that step, or of all if there are fewer."""
        for count, steps in enumerate(self.steps, start=1):
            last = self.returns[max(0, count - self.rules.window) : count]
            yield steps, sum(last) / len(last)


def learning_curve(result: Result, rules: ScriptRules | None) -> LearningCurve | None:
    """The learning curve of a script's result; None if it is not a script's, or has no finished episode.

    An abandoned episode counts as the worst, or a script could abandon all that go badly. The curve does not go on before
    an episode has ended, or a script could keep bad ones open. The training's last episode may be open: no steps are left.
    """
    record = result.script
    if record is None or rules is None:
        return None
    left = set(record.unfinished)
    if len(left) == len(record.returns):
        return None
    last = (len(record.returns) if record.counts_from is None else record.counts_from) - 1
    shown = [index for index in range(len(record.returns)) if not (index == last and index in left)]
    played = tuple(itertools.accumulate(record.lengths))
    ends, longest = record.ended_at or played, max(record.lengths)
    return LearningCurve(
        steps=tuple(itertools.accumulate((ends[index] for index in shown), max)),
        played=tuple(played[index] for index in shown),
        skipped=tuple(itertools.accumulate(longest * (index in left) for index in shown)),
        returns=tuple(rules.worst if index in left else record.returns[index] for index in shown),
        rules=rules,
        is_whole=record.counts_from is None or all(record.finished(rules.last)),
    )


def steps_to_threshold(curve: LearningCurve, threshold: float) -> float | None:
    """Steps until the mean of the last `window` returns reached the threshold.

    Only full windows count, since one lucky episode shows no skill. An episode that was left costs as much as the longest: a
    script could else look at a thousand starts, which takes no step, and play where many good ones follow each other. None
    if it was never reached: worse than any number.
    """
    full = list(zip(curve.points(), curve.skipped, strict=True))[curve.rules.window - 1 :]
    return next((float(steps + skipped) for (steps, value), skipped in full if value >= threshold), None)


def area_under_curve(curve: LearningCurve, _: float = 0.0) -> float:
    """The mean height of the curve over the whole budget of steps, as a return.

    Before the first episode ends the height is the task's worst return; each point holds for the steps of the next episode,
    and the last one until the budget ends. What is beyond the budget does not count.

    A script could let a lucky height hold for long. So steps are those of the episodes in the order in which they began, not
    those taken meanwhile in others; and the last height holds only if all that count have ended.
    """
    area, since, height = 0.0, 0, curve.rules.worst
    for played, (_, value) in zip(curve.played, curve.points(), strict=True):
        steps = min(played, curve.rules.steps)
        area, since, height = area + height * (steps - since), steps, value
    return (area + (height if curve.is_whole else curve.rules.worst) * (curve.rules.steps - since)) / curve.rules.steps


# A missing value: shown as a dash, ranks last, and never counts as 0.
MISSING = math.nan
_SCORINGS: dict[str, Scoring] = {"iqm_return": "iqm", "median_return": "median"}
_CURVES: dict[str, Callable[[LearningCurve, float], float | None]] = {
    "steps_to_threshold": steps_to_threshold,
    "area_under_curve": area_under_curve,
}


@dataclass(frozen=True, kw_only=True)
class EpisodeMetric:
    """How the values of episodes become one number; implements `ScoringRule` for a metric of a task."""

    id: str
    """The task's, so that all its metrics have the same resamples."""
    score: Scoring
    bounds: Bounds


def metrics_of(task: Task) -> tuple[Metric, ...]:
    """The metrics that a task's leaderboard shows; the first one ranks."""
    return task.metrics or (_default_metric(task.score, task.decimals),)


@functools.cache
def _default_metric(scoring: Scoring, decimals: int) -> Metric:
    """Cached, since it is read for every row."""
    kind = "mean_return" if scoring == "mean" else "iqm_return"
    return Metric(name="Score", kind=kind, direction=Direction.HIGHER, decimals=decimals)


def ranking_metric(task: Task) -> Metric:
    """The metric that ranks."""
    return metrics_of(task)[0]


def other_metrics(task: Task) -> tuple[Metric, ...]:
    """The metrics that are only shown."""
    return task.metrics[1:]


def oriented_value(metric: Metric, value: float) -> float:
    """A value with its sign changed if lower is better, so that greater is better."""
    return metric.sign * value


def oriented_return(task: Task, value: float) -> float:
    """A return with its sign set so that greater is better; unchanged if no metric of returns ranks."""
    metric = ranking_metric(task)
    return oriented_value(metric, value) if metric.kind.endswith("_return") else value


def is_missing(value: float) -> bool:
    """Whether a value is missing."""
    return math.isnan(value)


def value_or_none(value: float) -> float | None:
    """The value; None if it is missing, as in JSON documents."""
    return None if is_missing(value) else value


def digits(task: Task) -> int:
    """Decimals of the metric that ranks."""
    return ranking_metric(task).decimals


def arrow(metric: Metric) -> str:
    """The direction that is better, as an arrow."""
    return "↑" if metric.direction is Direction.HIGHER else "↓"


def better(metric: Metric) -> str:
    """The direction that is better, in words."""
    return f"{metric.direction.value} is better"


def measures(metric: Metric) -> str:
    """What a metric measures, in words."""
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
    """How a metric is computed from the values of episodes; None if it is a single number."""
    match metric.kind:
        case "mean_return" | "iqm_return" | "median_return":
            return EpisodeMetric(id=task.id, score=_SCORINGS.get(metric.kind, "mean"), bounds=task.bounds)
        case "success_rate":
            return EpisodeMetric(id=task.id, score="mean", bounds=(0, 1))
        case "mean_length":
            return EpisodeMetric(id=task.id, score="mean", bounds=None)
    return None


def episode_values(task: Task, metric: Metric, result: Result) -> Sequence[float]:
    """The value of each episode, for a metric that has an `EpisodeMetric`."""
    match metric.kind:
        case "success_rate":
            threshold = metric.threshold or 0.0
            return [float(value >= threshold) for value in result.returns]
        case "mean_length":
            return episode_lengths(task, metric, result)
    return result.returns


def episode_lengths(task: Task, metric: Metric, result: Result) -> Sequence[int]:
    """The steps of each episode; one that a script left, or never began, is as bad as an episode can be."""
    if result.script is None or task.script is None:
        return result.lengths
    # The steps before those that count are at least one.
    longest = task.max_episode_steps or (task.script.steps - 1) // task.script.last
    worst = longest if metric.direction is Direction.LOWER else 0
    finished = result.script.finished(len(result.lengths))
    return [length if ended else worst for length, ended in zip(result.lengths, finished, strict=True)]


def any_sealed(results: Iterable[Result]) -> bool:
    """Whether some of the results show one rounded score and no episodes."""
    return any(result.sealed for result in results)


def single_value(task: Task, metric: Metric, result: Result) -> float:
    """The value of a metric without an `EpisodeMetric`, or of a sealed result, which shows only its rounded score."""
    if result.sealed:
        score = result.sealed.score
        return score if score is not None and metric == ranking_metric(task) else MISSING
    if metric.is_own:
        # Nobody can say what is the worst of it; a script could end as soon as it is good.
        is_whole = result.script is None or all(result.script.finished(len(result.returns)))
        return result.metrics.get(metric.kind, MISSING) if is_whole else MISSING
    curve = learning_curve(result, task.script)
    value = _CURVES[metric.kind](curve, metric.threshold or 0.0) if curve else None
    return MISSING if value is None else value


def single_value_error(metric: Metric, result: Result) -> float:
    """The standard error of `single_value`; infinite if unknown."""
    return result.metrics.get(metric.error_key, np.inf) if metric.is_own and not result.sealed else np.inf


def by_value(values: Iterable[tuple[Metric, float]]) -> tuple[tuple[bool, float], ...]:
    """A sort key that puts better values first; missing values rank last."""
    return tuple(
        (is_missing(value), 0.0 if is_missing(value) else -oriented_value(metric, value)) for metric, value in values
    )


def claim_differs(claimed: float, measured: float, decimals: int) -> bool:
    """Whether a claimed score differs from the measured mean by more than rounding."""
    return abs(claimed - measured) > 0.51 * 10.0**-decimals
