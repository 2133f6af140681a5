"""How scripts are measured: by the episodes that the referee really played for them."""

from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from evaluator.model.base import Frozen

# Episodes of one script that are kept; whoever resets more often is as one whose budget is over.
EPISODES = 100_000
# Environments of one script that may be open at once.
ENVIRONMENTS = 1024
NOTICES = 20
Notice = Annotated[str, StringConstraints(max_length=300)]


class ScriptRules(Frozen):
    """A task that scripts enter, and scripts alone: `python -u submission.py <environment>`, its steps at the referee."""

    steps: int = Field(default=100_000, ge=1, le=50_000_000)
    """Environment steps that a script may take, training and evaluation together."""
    last: int = Field(default=100, ge=1, le=10_000)
    """Episodes that count: the last ones started within the budget."""
    worst: float
    """What an abandoned episode counts: the task's worst return, else resetting away from bad starts would pay."""
    window: int = Field(default=20, ge=1, le=1000)
    """Episodes whose mean is a point of the learning curve."""
    self_reported: bool = False
    """Whether a score that the referee did not measure is listed, apart and never ranked."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The episodes of a script that make its score."""

    first: int
    """The number of the first one, in the order of starting; its seed follows from it."""
    returns: tuple[float, ...]
    """One for each: what it earned, or the task's worst return."""
    lengths: tuple[int, ...]
    """Steps of each; 0 for those that were never started."""


class ScriptRecord(Frozen):
    """What a script did and said, beside its score."""

    claimed: float | None = None
    """The score that the script printed; null where it printed none."""
    exit_code: int | None = None
    """How the script ended; null where its budget or its connection ended first."""
    exhausted: bool = False
    """Whether it asked for more episodes than its budget holds."""
    returns: tuple[float, ...] = Field(default=(), max_length=EPISODES)
    """Sum of rewards of every episode, in the order of starting; of an abandoned one until then."""
    lengths: tuple[int, ...] = Field(default=(), max_length=EPISODES)
    """Steps of every episode."""
    unfinished: tuple[int, ...] = Field(default=(), max_length=EPISODES)
    """Numbers of the episodes that did not come to their end."""
    notices: tuple[Notice, ...] = Field(default=(), max_length=NOTICES)
    """What the script asked for and did not get, each once."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if len(self.returns) != len(self.lengths) or any(length < 0 for length in self.lengths):
            raise ValueError("a script's record has as many returns as lengths")
        if list(self.unfinished) != sorted({n for n in self.unfinished if 0 <= n < len(self.returns)}):
            raise ValueError("a script's record names unfinished episodes in order, each once, and none that is not there")
        return self

    @property
    def steps(self) -> int:
        """Environment steps of all episodes."""
        return sum(self.lengths)

    @property
    def _started(self) -> int:
        """How many episodes were played at all."""
        number = len(self.returns)
        return number - 1 if number and number - 1 in self.unfinished and not self.lengths[-1] else number

    def first(self, last: int) -> int:
        """The number of the first of the `last` episodes."""
        return max(0, self._started - last)

    def counted(self, rules: ScriptRules) -> Counted:
        """The last episodes that were started; an abandoned one, and each that is missing, counts the worst return.

        Loops end with a reset: where not one step was taken in the very last episode, it was never played.
        """
        unfinished = set(self.unfinished)
        started = self._started
        first = self.first(rules.last)
        missing = rules.last - (started - first)
        played = [rules.worst if i in unfinished else self.returns[i] for i in range(first, started)]
        return Counted(
            first=first,
            returns=(*played, *[rules.worst] * missing),
            lengths=(*self.lengths[first:started], *[0] * missing),
        )
