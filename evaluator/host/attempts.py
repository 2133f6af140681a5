"""When an evaluation is tried a second time: only if the first attempt ended before the agent was shown anything.

Both attempts have the same seeds. An agent that had seen an observation could stall where it does not like what it saw, and
draw once more: its own chance, its clock, what it remembers by ways that no sandbox closes. That it was slow proves nothing
against the machine, for an agent can sleep, burn and fill the memory at will. So what is counted is not why the first
attempt ended but what the agent knew: before its first observation it knows nothing to choose by.
"""

from dataclasses import dataclass

from evaluator.host.sandboxes.channel import clean
from evaluator.model.records.result import FirstAttempt
from evaluator.model.records.verdict import Verdict

ATTEMPTS = 2


@dataclass
class Shown:
    """Whether an agent was shown an observation in this attempt."""

    yet: bool = False
    """Set before the first one is sent; it stays."""

    def mark(self) -> None:
        """An observation is about to be sent."""
        self.yet = True


def is_tried_again(verdict: Verdict, shown: Shown) -> bool:
    """Whether an attempt that ended so is followed by another: a start that took too long, or that we failed at."""
    return not shown.yet and verdict in (Verdict.TIMEOUT, Verdict.INTERNAL_ERROR)


def first_attempt(verdict: Verdict, message: str, wall_seconds: float) -> FirstAttempt:
    """What is recorded of an attempt that is followed by another."""
    fields = {"verdict": verdict, "message": clean(message), "wall_seconds": round(wall_seconds, 3)}
    return FirstAttempt.model_validate(fields)
