"""Wins, ties and losses of a player, and the points that they are worth in a game's table."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

WIN_POINTS, TIE_POINTS = 2, 1


@dataclass(frozen=True, kw_only=True)
class WinCount:
    """Matches counted for one player; a forfeit counts as a win or a loss too."""

    wins: int = 0
    ties: int = 0
    losses: int = 0
    errors: int = 0
    """Losses by breaking a rule or failing to go on."""
    score: float = 0.0
    """Sum of the returns of all matches."""

    @property
    def matches(self) -> int:
        """All of them."""
        return self.wins + self.ties + self.losses

    @property
    def points(self) -> int:
        """Those of its wins and ties."""
        return WIN_POINTS * self.wins + TIE_POINTS * self.ties

    @property
    def points_share(self) -> float:
        """Points as a share of what winning every match would give; a half without matches."""
        return self.points / (WIN_POINTS * self.matches) if self.matches else 0.5

    @classmethod
    def total(cls, counts: Iterable["WinCount"]) -> "WinCount":
        """The sum of some counts; that of the scores is exactly rounded."""
        counts = list(counts)
        return cls(
            wins=sum(count.wins for count in counts), ties=sum(count.ties for count in counts),
            losses=sum(count.losses for count in counts), errors=sum(count.errors for count in counts),
            score=math.fsum(count.score for count in counts),
        )  # fmt: skip
