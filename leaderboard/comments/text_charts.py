"""Intervals and shares drawn with characters, for the code blocks of comments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from leaderboard.charts.interval_charts import ChartScale, as_point
from leaderboard.core.entry import Estimate
from leaderboard.text.format import number

# Characters of a bar.
TEXT_WIDTH = 26
SCORE_SIGN, LEADER_SIGN = "●", "◆"
_SHARE_SIGNS = ("█", "▒", "·")


@dataclass(frozen=True, kw_only=True)
class TextBar:
    """One line of a text chart."""

    name: str
    estimate: Estimate
    mark: str = SCORE_SIGN


def text_chart(bars: Sequence[TextBar], decimals: int) -> str:
    """One line for each bar with its score at the end, and a line with the ends of the scale; empty without a score."""
    bars = [replace(bar, estimate=as_point(bar.estimate)) for bar in bars if not bar.estimate.is_missing]
    if not bars:
        return ""
    scale = _text_scale(bars)
    names = max(len(bar.name) for bar in bars)
    scores = [number(bar.estimate.score, decimals) for bar in bars]
    digits = max(map(len, scores))
    lines = [
        f"{bar.name:<{names}} {text_interval(bar.estimate, scale, bar.mark)} {score:>{digits}}"
        for bar, score in zip(bars, scores, strict=True)
    ]
    return "\n".join([*lines, f"{'':<{names}} {_axis(scale, decimals)}".rstrip()])


def _text_scale(bars: Sequence[TextBar]) -> ChartScale:
    """From the least to the greatest shown value; it has a width even where all are equal."""
    low, high = min(bar.estimate.low for bar in bars), max(bar.estimate.high for bar in bars)
    margin = 0.0 if low < high else max(abs(high), 1.0) / 2
    return ChartScale(low=low - margin, high=high + margin)


def text_shares(won: int, drawn: int, lost: int) -> str:
    """Won, drawn and lost as parts of one bar, by largest remainders; a count above 0 has at least one character."""
    counts = (won, drawn, lost)
    total = sum(counts)
    if not total:
        return ""
    room = TEXT_WIDTH - sum(count > 0 for count in counts)
    parts = [(count > 0) + count * room // total for count in counts]
    by_remainder = sorted(range(3), key=lambda index: (-(counts[index] * room % total), index))
    for index in by_remainder[: TEXT_WIDTH - sum(parts)]:
        parts[index] += 1
    return "".join(sign * part for sign, part in zip(_SHARE_SIGNS, parts, strict=True))


def text_interval(estimate: Estimate, scale: ChartScale, mark: str) -> str:
    """A line of dots with the interval on it and the mark at the score."""
    low, high, middle = (_column(scale, value) for value in (estimate.low, estimate.high, estimate.score))
    line = ["·"] * TEXT_WIDTH
    line[low : high + 1] = "─" * (high - low + 1)
    line[low], line[high], line[middle] = "├", "┤", mark
    return "".join(line)


def _column(scale: ChartScale, value: float) -> int:
    return min(TEXT_WIDTH - 1, int(scale.at(value) / 100 * TEXT_WIDTH))


def _axis(scale: ChartScale, decimals: int) -> str:
    left, right = number(scale.low, decimals), number(scale.high, decimals)
    return left + right.rjust(TEXT_WIDTH - len(left))
