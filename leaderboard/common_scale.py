"""The common scale of tasks: a random agent stands at 0 and the reference at 1."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evaluator.model.config.challenge import Task
from leaderboard.resampling import Array

# A normalised score counts no less and no more than this.
LEAST, MOST = -1.0, 2.0


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


def scale_of(task: Task) -> Iterator[Scale]:
    """The task's scale, if it has both anchors."""
    if task.random and task.reference:
        yield Scale(task=task, zero=task.random.score, one=task.reference.score)
