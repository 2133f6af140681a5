"""How far an evaluation is, for whoever waits for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Steps between two reports where no episode ends.
REPORT_STEPS = 1000
# No two reports are closer, but for the last: one goes through all episodes that have ended.
REPORT_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayProgress:
    """What an evaluation or a duel has come to."""

    done: int
    """Finished episodes or matches; of a training script, steps."""
    total: int
    steps: int
    """Steps in environments, or moves, so far."""
    share: float
    """The part that is done, from 0 to 1; estimated by steps where episodes differ in length."""
    scores: Sequence[float] = ()
    """Returns of finished episodes; of a duel, the first player's points of finished matches, of 0, ½ and 1."""


ReportProgress = Callable[[PlayProgress], None]


def ignore_progress(progress: PlayProgress) -> None:
    """For whoever shows none."""
