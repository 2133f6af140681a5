"""How many matches a player won, drew and lost, and the points that they are worth in a game's table."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluator.model.records.duel_record import MatchRecord

WIN_POINTS, DRAW_POINTS = 2, 1


@dataclass(frozen=True, kw_only=True)
class MatchCount:
    """Matches counted for one player; a forfeit counts as a win or a loss too."""

    won: int = 0
    drawn: int = 0
    lost: int = 0
    errors: int = 0
    """Losses by breaking a rule or failing to go on."""
    score: float = 0.0
    """Sum of the returns of all matches."""

    @property
    def matches(self) -> int:
        """All of them."""
        return self.won + self.drawn + self.lost

    @property
    def points(self) -> int:
        """Those of the matches that it won and drew."""
        return WIN_POINTS * self.won + DRAW_POINTS * self.drawn

    @property
    def points_share(self) -> float:
        """Points as a share of what winning every match would give; a half without matches."""
        return self.points / (WIN_POINTS * self.matches) if self.matches else 0.5

    @classmethod
    def total(cls, counts: Iterable["MatchCount"]) -> "MatchCount":
        """The sum of some counts; that of the scores is exactly rounded."""
        counts = list(counts)
        return cls(
            won=sum(count.won for count in counts), drawn=sum(count.drawn for count in counts),
            lost=sum(count.lost for count in counts), errors=sum(count.errors for count in counts),
            score=math.fsum(count.score for count in counts),
        )  # fmt: skip


def count_matches(matches: Sequence[MatchRecord], side: int) -> MatchCount:
    """What one side did in these matches."""
    won = drawn = errors = 0
    for match in matches:
        won += match.winner == side
        drawn += match.winner is None and not match.offenders
        errors += side in match.offenders
    score = math.fsum(match.scores[side] for match in matches)
    return MatchCount(won=won, drawn=drawn, lost=len(matches) - won - drawn, errors=errors, score=score)
