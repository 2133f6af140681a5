"""The rules of a task for training scripts."""

from pydantic import Field

from evaluator.model.base import Frozen

# Of one script, at once.
MAX_OPEN_ENVIRONMENTS = 1024


class ScriptRules(Frozen):
    """A task that scripts enter, and scripts alone: `python -u submission.py <environment>`, its steps at the referee."""

    steps: int = Field(default=100_000, ge=1, le=50_000_000)
    """Environment steps that a script may take, training and evaluation together."""
    last: int = Field(default=100, ge=1, le=10_000)
    """Episodes that count: the first ones begun after the training steps, of which each can be played to its end."""
    worst: float
    """What an unfinished or missing episode counts: the task's worst return, else leaving bad episodes would pay."""
    window: int = Field(default=20, ge=1, le=1000)
    """Episodes whose mean is a point of the learning curve."""
    self_reported: bool = False
    """Whether a score that the referee did not measure is listed, apart and never ranked."""

    def training_steps(self, limit: int) -> int:
        """Environment steps before the episodes that count: the budget without `last` episodes of `limit` steps each.

        Raises:
            ValueError: nothing is left to train with.
        """
        if (steps := self.steps - self.last * limit) <= 0:
            raise ValueError(
                f"script: {self.last} episodes of at most {limit} steps may take {self.last * limit:,} steps, and "
                f"steps is {self.steps:,}; raise steps, or lower last or max_episode_steps"
            )
        return steps
