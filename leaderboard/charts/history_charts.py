"""Pictures of a board's history: the best score over time, and places over time. Colours are the stylesheet's."""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from markupsafe import Markup

from leaderboard.charts.interval_chart import ChartScale
from leaderboard.history import RankHistory, RecordScore
from leaderboard.text.escape_markdown import escape
from leaderboard.text.format import day, number

_WIDE, _HIGH, _LEFT, _TOP = 600.0, 200.0, 48.0, 10.0
_TICKS = 5


def seconds(at: str) -> float:
    """A UTC time as a number."""
    return datetime.fromisoformat(at).astimezone(UTC).timestamp()


def progress_picture(found: Sequence[RecordScore], ends: tuple[str, str], decimals: int) -> Markup:
    """The best score so far, as steps.

    Args:
        found: each new best, oldest first, at least one.
        ends: the first and the last moment to draw.
        decimals: digits after the point.
    """
    values = [one.score for one in found]
    low, high = min(values), max(values)
    air = (high - low) * 0.08 or max(abs(high) * 0.05, 1.0)
    up = ChartScale(low=low - air, high=high + air)
    points = [*((one.at, one.score) for one in found), (ends[1], values[-1])]
    line = _steps(0, points, ends, lambda value: _TOP + _HIGH * (1 - up.at(value) / 100), "best score")
    marks = [(value, number(value, decimals)) for value in ticks(up.low, up.high)]
    words = f"the best score from {day(ends[0])} to {day(ends[1])}: from {number(values[0], decimals)} to "
    words += number(values[-1], decimals)
    return _frame(marks, lambda value: _TOP + _HIGH * (1 - up.at(value) / 100), line, ends, words)


def standing_picture(tracks: Sequence[RankHistory], ends: tuple[str, str]) -> Markup:
    """The place of each of a few entries, as steps, the first place on top; a gap where it had none.

    Args:
        tracks: at least one of them with a place.
        ends: the first and the last moment to draw.
    """
    worst = max([place for track in tracks for _, place in track.places if place is not None], default=1)

    def height(place: float) -> float:
        return _TOP + 6 + (_HIGH - 12) * ((place - 1) / max(worst - 1, 1))

    lines = Markup("").join(
        _steps(index, part, ends, height, track.entry.shown)
        for index, track in enumerate(tracks)
        for part in _parts(track, ends[1])
    )
    marks = [(float(place), str(place)) for place in _places(worst)]
    words = f"places from {day(ends[0])} to {day(ends[1])}"
    return _frame(marks, height, lines, ends, words)


def _parts(track: RankHistory, end: str) -> list[list[tuple[str, float]]]:
    """The stretches in which an entry had a place; where it loses it, the stretch ends there."""
    parts: list[list[tuple[str, float]]] = []
    current: list[tuple[str, float]] = []
    for at, place in (*track.places, (end, None)):
        if place is not None:
            current.append((at, float(place)))
        elif current:
            parts.append([*current, (at, current[-1][1])])
            current = []
    return parts


def _places(worst: int) -> list[int]:
    if worst <= _TICKS + 3:
        return list(range(1, worst + 1))
    return sorted({1, worst, *(int(value) for value in ticks(1, worst) if 1 < value < worst * 0.93)})


def ticks(low: float, high: float) -> list[float]:
    """A few round numbers between two."""
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [step * index for index in range(first, last + 1)]


def _steps(
    index: int, points: Sequence[tuple[str, float]], ends: tuple[str, str], height: Callable[[float], float], name: str
) -> Markup:
    start, end = map(seconds, ends)
    across = ChartScale(low=start, high=max(end, start + 1))

    def x(at: str) -> float:
        return _LEFT + (_WIDE - _LEFT - 10) * across.at(seconds(at)) / 100

    way = f"M{x(points[0][0]):.1f},{height(points[0][1]):.1f}"
    way += "".join(f"H{x(at):.1f}V{height(value):.1f}" for at, value in points[1:])
    last = points[-1]
    circle = (x(last[0]), height(last[1]))
    return Markup(
        '<g class="pr-series-{}"><title>{}</title><path d="{}"/><circle cx="{:.1f}" cy="{:.1f}" r="3"/></g>'
    ).format(index, escape(name), way, *circle)


def _frame(
    marks: Sequence[tuple[float, str]],
    height: Callable[[float], float],
    lines: Markup,
    ends: tuple[str, str],
    words: str,
) -> Markup:
    grid = Markup("").join(
        Markup(
            '<line class="pr-axis" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/><text x="{3}" y="{4:.1f}">{5}</text>'
        ).format(_LEFT, _WIDE - 10, height(value), _LEFT - 6, height(value) + 3, escape(text))
        for value, text in marks
    )
    below = Markup('<text class="pr-first" x="{}" y="{}">{}</text><text x="{}" y="{}">{}</text>').format(
        _LEFT, _HIGH + 26, escape(day(ends[0])), _WIDE - 10, _HIGH + 26, escape(day(ends[1]))
    )
    return Markup('<svg class="pr-history" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}{}{}</svg>').format(
        _WIDE, _HIGH + 32, escape(words), grid, below, lines
    )
