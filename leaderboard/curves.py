"""Learning curves: what a script's returns were after how many steps, and what that amounts to.

A script may play many episodes side by side; they are taken one after the other, in the order of starting.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from evaluator.model.config.training_script import ScriptRules
from evaluator.model.records.result import Result


@dataclass(frozen=True, kw_only=True)
class Curve:
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
            yield steps, mean(self.returns[max(0, count - self.rules.window) : count])


def mean(values: Sequence[float]) -> float:
    """The mean, summed in order."""
    return sum(values) / len(values)


def curve(result: Result, rules: ScriptRules | None) -> Curve | None:
    """The learning curve that a result holds; None if it is no script's, or holds nothing that came to its end."""
    record = result.script
    if record is None or rules is None:
        return None
    abandoned = set(record.unfinished)
    finished = [index not in abandoned for index in range(len(record.returns))]
    return made(zip(record.returns, record.lengths, finished, strict=True), rules)


def made(episodes: Iterable[tuple[float, int, bool]], rules: ScriptRules) -> Curve | None:
    """The curve of episodes in order: the return of each, its length, and whether it came to its end.

    An abandoned episode is no point of the curve, but its steps were taken. None without a finished one.
    """
    steps, returns, taken = [], [], 0
    for total, length, is_finished in episodes:
        taken += length
        if is_finished:
            steps.append(taken)
            returns.append(total)
    return Curve(steps=tuple(steps), returns=tuple(returns), rules=rules) if steps else None


def steps_to_threshold(found: Curve, threshold: float) -> float | None:
    """Steps until the mean of the last `window` returns was as high as the threshold.

    It takes a full window: one lucky episode is no skill. None if that never came: worse than any number of steps.
    """
    full = list(found.points())[found.rules.window - 1 :]
    return next((float(steps) for steps, value in full if value >= threshold), None)


def area_under_curve(found: Curve, _: float = 0.0) -> float:
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
