"""A player's clock: a frame's time is shared equally by its positions, and runs out while it is being waited for."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from evaluator.model.config.challenge import Clock


class Timed(Protocol):
    """A match as a clock sees it."""

    banks: list[float]
    """Seconds that each side has left beyond its moves' own."""
    over: bool
    """Whether it has ended."""


Match = TypeVar("Match", bound=Timed)


class SideClock:
    """One player's time in all matches of a duel."""

    def __init__(self, settings: Clock, side: int, wall_seconds: float, now: Callable[[], float]) -> None:
        self._move, self._side, self._now = settings.move_seconds, side, now
        self._wall = wall_seconds
        self._begun = 0.0
        self._count = 1
        self._answered: float | None = None
        self.thinking = 0.0
        self.deadline = 0.0

    def start(self, matches: Sequence[Timed]) -> None:
        """A frame about these matches' positions is out."""
        self._begun, self._answered = self._now(), None
        self._count = len(matches)
        self._set_deadline(matches)

    def _set_deadline(self, matches: Sequence[Timed]) -> None:
        """When the next thing happens if no answer comes."""
        side = self._side
        poorest = min((match.banks[side] for match in matches if not match.over), default=0.0)
        share = self._count * (self._move + poorest)
        self.deadline = self._begun + min(share, self._wall - self.thinking)

    def spent(self) -> bool:
        """Whether all the thinking time of the duel is used up, by the frame that is out."""
        return self.thinking + (self._now() - self._begun) >= self._wall

    def run_out(self, matches: Sequence[Match]) -> list[Match]:
        """The matches whose time ran out by now, no answer being there; the deadline moves to the next ones'."""
        share = (self._now() - self._begun) / self._count - self._move
        late = [match for match in matches if not match.over and match.banks[self._side] <= share]
        self._set_deadline([match for match in matches if match not in late])
        return late

    def arrived(self) -> None:
        """The answer is here, though nobody has time for it yet."""
        self._answered = self._now()

    def stop(self, matches: Sequence[Match]) -> tuple[int, list[Match]]:
        """The answer is taken: what each position is charged in milliseconds, and for whom it came too late."""
        seconds = self._seconds()
        self.thinking += seconds
        share = seconds / self._count
        beyond = share - self._move
        late = []
        if beyond > 0:
            for match in matches:
                match.banks[self._side] -= beyond
                if match.banks[self._side] < 0 and not match.over:
                    late.append(match)
        return round(share * 1000), late

    def abandon(self) -> None:
        """The frame that is out is of no use any more, whether its answer is here or not."""
        self.thinking += self._seconds()

    def _seconds(self) -> float:
        """What the frame took, until its answer was here or until now."""
        return (self._now() if self._answered is None else self._answered) - self._begun
