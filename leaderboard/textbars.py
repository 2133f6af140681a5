"""Intervals drawn with characters, on one shared scale: for places that have neither colours nor pictures."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.figures import Scale
from leaderboard.format import number
from leaderboard.standings import Estimate

WIDTH = 26
SCORE, LEADER = "●", "◆"


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One line of the picture."""

    name: str
    """A word of ours before it."""
    estimate: Estimate
    """What it shows."""
    mark: str = SCORE
    """Stands at the score."""


def picture(bars: Sequence[Bar], decimals: int) -> str:
    """The bars below each other, their scores behind them, the ends of the scale beneath."""
    scale = _scale(bars)
    names = max(len(bar.name) for bar in bars)
    scores = [number(bar.estimate.score, decimals) for bar in bars]
    digits = max(map(len, scores))
    lines = [
        f"{bar.name:<{names}} {drawn(bar.estimate, scale, bar.mark)} {score:>{digits}}"
        for bar, score in zip(bars, scores, strict=True)
    ]
    return "\n".join([*lines, f"{'':<{names}} {_axis(scale, decimals)}".rstrip()])


def _scale(bars: Sequence[Bar]) -> Scale:
    """From the least to the greatest that is shown; it has a width even where all are equal."""
    low, high = min(bar.estimate.low for bar in bars), max(bar.estimate.high for bar in bars)
    air = 0.0 if low < high else max(abs(high), 1.0) / 2
    return Scale(low=low - air, high=high + air)


def drawn(estimate: Estimate, scale: Scale, mark: str) -> str:
    """A line of dots, the interval on it, the mark at the score."""
    low, high, middle = (_column(scale, value) for value in (estimate.low, estimate.high, estimate.score))
    line = ["·"] * WIDTH
    line[low : high + 1] = "─" * (high - low + 1)
    line[low], line[high], line[middle] = "├", "┤", mark
    return "".join(line)


def _column(scale: Scale, value: float) -> int:
    return min(WIDTH - 1, int(scale.at(value) / 100 * WIDTH))


def _axis(scale: Scale, decimals: int) -> str:
    left, right = number(scale.low, decimals), number(scale.high, decimals)
    return left + right.rjust(WIDTH - len(left))
