"""What is recorded of a training script, and which of its episodes count."""

from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from evaluator.model.base import EpisodeReturn, Frozen, is_none
from evaluator.model.config.training_script import ScriptRules

# Of one script; more resets count as an exhausted budget.
MAX_SCRIPT_EPISODES = 100_000
MAX_NOTICES = 20
Notice = Annotated[str, StringConstraints(max_length=300)]


@dataclass(frozen=True, kw_only=True)
class CountedEpisodes:
    """The episodes that make a score."""

    first: int
    """The number of the first one, in the order of starting; its seed follows from it."""
    returns: tuple[float, ...]
    """One for each: what it earned, or for a script the task's worst return."""
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
    returns: tuple[EpisodeReturn, ...] = Field(default=(), max_length=MAX_SCRIPT_EPISODES)
    """Sum of rewards of every episode, in the order of starting; of an unfinished one until then."""
    lengths: tuple[int, ...] = Field(default=(), max_length=MAX_SCRIPT_EPISODES)
    ended_at: tuple[int, ...] | None = Field(default=None, max_length=MAX_SCRIPT_EPISODES, exclude_if=is_none)
    """Steps that the script had taken in all its environments when each episode ended, or was left; absent in records made
    before this was recorded."""
    unfinished: tuple[int, ...] = Field(default=(), max_length=MAX_SCRIPT_EPISODES)
    """Numbers of the episodes that did not come to their end."""
    counts_from: int | None = Field(default=None, ge=0, le=MAX_SCRIPT_EPISODES)
    """Number of the first episode begun after the training steps, of all episodes if none was; null in records of
    protocol 1, in which the last episodes that were started counted."""
    notices: tuple[Notice, ...] = Field(default=(), max_length=MAX_NOTICES)
    """What the script asked for and did not get, each once."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if len(self.returns) != len(self.lengths) or any(length < 0 for length in self.lengths):
            raise ValueError("a script's record has as many returns as lengths")
        if list(self.unfinished) != sorted({n for n in self.unfinished if 0 <= n < len(self.returns)}):
            raise ValueError("a script's record names unfinished episodes in order, each once, and none that is not there")
        if self.counts_from is not None and self.counts_from > len(self.returns):
            raise ValueError("a script's record counts from an episode that is not there")
        if self.ended_at is not None and len(self.ended_at) != len(self.lengths):
            raise ValueError("a script's record says when each of its episodes ended, or of none")
        return self

    def without_words(self) -> Self:
        """The same without what the script wrote itself."""
        return self.model_copy(update={"notices": ()})

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
        """The number of the first of the `last` episodes that count."""
        return max(0, self._started - last) if self.counts_from is None else self.counts_from

    def counted(self, rules: ScriptRules) -> CountedEpisodes:
        """The first `last` episodes begun after the training steps; an unfinished or missing one counts the worst return.

        In records of measurement version 1 they are the last that were started. Loops end with a reset: where not one step
        was taken in the very last episode, it was never played.
        """
        counted, finished = self._counted(rules.last), self.finished(rules.last)
        missing = rules.last - len(counted)
        played = [self.returns[i] if ended else rules.worst for i, ended in zip(counted, finished, strict=False)]
        return CountedEpisodes(
            first=counted.start,
            returns=(*played, *[rules.worst] * missing),
            lengths=(*self.lengths[counted.start : counted.stop], *[0] * missing),
        )

    def finished(self, last: int) -> tuple[bool, ...]:
        """Whether each of the `last` episodes that count was begun and came to its end."""
        unfinished, counted = set(self.unfinished), self._counted(last)
        return (*(i not in unfinished for i in counted), *[False] * (last - len(counted)))

    def _counted(self, last: int) -> range:
        """The numbers of those of the `last` episodes that count which were begun."""
        first = self.first(last)
        return range(first, self._started if self.counts_from is None else min(len(self.returns), first + last))
