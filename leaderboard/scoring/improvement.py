"""The probability of improvement of one entry on another: P(A > B) + ½ P(A = B) for an episode of each.

It is the Mann-Whitney statistic U / (mn) (The Annals of Mathematical Statistics 18, 1947), as Agarwal et al. (NeurIPS 2021)
compare agents. The compare page computes the same in `site/assets/js/stats.js`; a test compares both to the last digits.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from leaderboard.scoring.bootstrap import Floats
from leaderboard.scoring.intervals import ENDS, normal_quantile, student_quantile
from leaderboard.scoring.metrics import any_sealed, episode_metric, episode_values, oriented_value, ranking

# Steps that halve an interval until it is below what a float can tell.
HALVINGS = 60
# A standard error below this is a rounding error.
LEAST_ERROR = 1e-9


class Improvement(NamedTuple):
    """How likely an episode of one entry is better than one of another, with its 95 % interval."""

    probability: float
    low: float
    high: float


def improvement(a: Sequence[float], b: Sequence[float]) -> Improvement:
    """The probability that a value of A is greater than one of B, a tie counted half.

    The interval is that of Brunner & Munzel (Biometrical Journal 42, 2000) on the logit scale (Pauly, Asendorf &
    Konietschke, Biometrical Journal 58, 2016), which allows ties and unequal spread, with Satterthwaite's degrees of
    freedom, rounded down. Where no value of one lies among those of the other its variance is zero; then it is method 5 of
    Newcombe (Statistics in Medicine 25, 2006). With fewer than two values on a side it is from 0 to 1.

    Args:
        a: independent values, at least one; greater is better.
        b: likewise.
    """
    over, under = _placements(a, b), _placements(b, a)
    probability = math.fsum(over) / len(a)
    if len(a) < 2 or len(b) < 2:
        return Improvement(probability, 0.0, 1.0)
    of_a, of_b = _variance(over) / len(a), _variance(under) / len(b)
    error = math.sqrt(of_a + of_b)
    if error <= LEAST_ERROR or not 0 < probability < 1:
        return _newcombe(probability, len(a), len(b))
    freedom = (of_a + of_b) ** 2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1))
    middle = math.log(probability / (1 - probability))
    # A rounding error must not cost a degree of freedom.
    margin = student_quantile(math.floor(freedom + LEAST_ERROR), ENDS[1]) * error / (probability * (1 - probability))
    return Improvement(probability, _logistic(middle - margin), _logistic(middle + margin))


def mean_improvement(tasks: Sequence[Improvement]) -> Improvement:
    """The mean over independent tasks, as rliable's `probability_of_improvement`.

    Each end is as far from the mean as the root of the sum of the squared distances on the tasks, divided by their number
    (the method of variance estimates recovery of Zou & Donner, Statistics in Medicine 27, 2008). So a task on which one
    entry always wins adds its own uncertainty. For one task it is that task's interval.
    """
    probability = math.fsum(task.probability for task in tasks) / len(tasks)
    below = math.hypot(*(task.probability - task.low for task in tasks)) / len(tasks)
    above = math.hypot(*(task.high - task.probability for task in tasks)) / len(tasks)
    return Improvement(probability, probability - below, probability + above)


def compared_values(task: Task, draws: Sequence[Result]) -> list[float]:
    """The values of all episodes, signs set so that greater is better; empty if they are not shown.

    They are those that the metric that ranks is made of, or the returns if it is made of something else.
    """
    if any_sealed(draws):
        return []
    metric = ranking(task)
    if episode_metric(task, metric) is None:
        return [value for result in draws for value in result.returns]
    return [oriented_value(metric, value) for result in draws for value in episode_values(metric, result)]


def _placements(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """For each value the share of the others below it, ties counted half."""
    ordered: Floats = np.sort(np.asarray(others, dtype=np.float64))
    below, up_to = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    placements: list[float] = ((below + up_to) / 2 / len(ordered)).tolist()
    return placements


def _variance(values: Sequence[float]) -> float:
    middle = math.fsum(values) / len(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def _newcombe(probability: float, m: int, n: int) -> Improvement:
    """The ends θ at which the probability is just 1.96 standard errors of θ away, by halving."""
    more, z = (m + n) / 2 - 1, normal_quantile(ENDS[1])

    def fits(theta: float) -> bool:
        spread = theta * (1 - theta) * (1 + more * (1 - theta) / (2 - theta) + more * theta / (1 + theta)) / (m * n)
        return abs(probability - theta) <= z * math.sqrt(spread)

    return Improvement(probability, _halved(fits, probability, 0.0), _halved(fits, probability, 1.0))


def _halved(fits: Callable[[float], bool], inside: float, outside: float) -> float:
    """The last number that fits on the way from one that does to one that does not."""
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if fits(middle) else (inside, middle)
    return inside


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
