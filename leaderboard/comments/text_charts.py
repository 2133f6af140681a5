"""Intervals drawn with characters, on one shared scale: for places that have neither colours nor pictures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.charts.interval_chart import ChartScale
from leaderboard.core.standings import Estimate
from leaderboard.text.format import number

WIDTH = 26
SCORE, LEADER = "●", "◆"
WON, DREW, LOST = "█", "▒", "·"


@dataclass(frozen=True, kw_only=True)
class TextBar:
    """One line of the picture."""

    name: str
    """A word of ours before it."""
    estimate: Estimate
    """What it shows."""
    mark: str = SCORE
    """Stands at the score."""


def text_chart(bars: Sequence[TextBar], decimals: int) -> str:
    """The bars below each other, their scores behind them, the ends of the scale beneath; nothing without a score."""
    bars = [
        TextBar(name=bar.name, estimate=_whole(bar.estimate), mark=bar.mark) for bar in bars if not bar.estimate.is_missing
    ]
    if not bars:
        return ""
    scale = _scale(bars)
    names = max(len(bar.name) for bar in bars)
    scores = [number(bar.estimate.score, decimals) for bar in bars]
    digits = max(map(len, scores))
    lines = [
        f"{bar.name:<{names}} {text_interval(bar.estimate, scale, bar.mark)} {score:>{digits}}"
        for bar, score in zip(bars, scores, strict=True)
    ]
    return "\n".join([*lines, f"{'':<{names}} {_axis(scale, decimals)}".rstrip()])


def _whole(estimate: Estimate) -> Estimate:
    """The same, as a point where there is no interval."""
    score = estimate.score
    return Estimate(score=score, low=score, high=score) if math.isnan(estimate.low) else estimate


def _scale(bars: Sequence[TextBar]) -> ChartScale:
    """From the least to the greatest that is shown; it has a width even where all are equal."""
    low, high = min(bar.estimate.low for bar in bars), max(bar.estimate.high for bar in bars)
    air = 0.0 if low < high else max(abs(high), 1.0) / 2
    return ChartScale(low=low - air, high=high + air)


def text_shares(wins: int, draws: int, losses: int) -> str:
    """Won, drawn and lost as parts of one bar, by largest remainders; what happened at all is seen."""
    counts = (wins, draws, losses)
    whole = sum(counts)
    if not whole:
        return ""
    room = WIDTH - sum(count > 0 for count in counts)
    parts = [(count > 0) + count * room // whole for count in counts]
    by_remainder = sorted(range(3), key=lambda index: (-(counts[index] * room % whole), index))
    for index in by_remainder[: WIDTH - sum(parts)]:
        parts[index] += 1
    return "".join(sign * part for sign, part in zip((WON, DREW, LOST), parts, strict=True))


def text_interval(estimate: Estimate, scale: ChartScale, mark: str) -> str:
    """A line of dots, the interval on it, the mark at the score."""
    low, high, middle = (_column(scale, value) for value in (estimate.low, estimate.high, estimate.score))
    line = ["·"] * WIDTH
    line[low : high + 1] = "─" * (high - low + 1)
    line[low], line[high], line[middle] = "├", "┤", mark
    return "".join(line)


def _column(scale: ChartScale, value: float) -> int:
    return min(WIDTH - 1, int(scale.at(value) / 100 * WIDTH))


def _axis(scale: ChartScale, decimals: int) -> str:
    left, right = number(scale.low, decimals), number(scale.high, decimals)
    return left + right.rjust(WIDTH - len(left))
