"""Charts of a leaderboard's history: the best score over time, and places over time. The stylesheet sets the colours."""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from markupsafe import Markup

from leaderboard.charts.interval_chart import ChartScale
from leaderboard.history import RankHistory, RecordScore
from leaderboard.text.escape_markdown import escape
from leaderboard.text.format import day, number

_TICKS = 5


class PlotArea(NamedTuple):
    """The place of a plot inside its picture, in pixels."""

    width: float
    """Of the picture."""
    height: float
    """Of the plot."""
    left: float
    top: float
    right: float
    """Space to the right of the plot."""

    def x(self, scale: ChartScale, value: float) -> float:
        """The horizontal position of a value."""
        return self.left + (self.width - self.left - self.right) * scale.at(value) / 100

    def y(self, scale: ChartScale, value: float) -> float:
        """The vertical position of a value."""
        return self.top + self.height * (1 - scale.at(value) / 100)


_HISTORY_AREA = PlotArea(width=600.0, height=200.0, left=48.0, top=10.0, right=10)


def epoch_seconds(at: str) -> float:
    """A UTC time as seconds since the epoch."""
    return datetime.fromisoformat(at).astimezone(UTC).timestamp()


def best_score_chart(records: Sequence[RecordScore], ends: tuple[str, str], decimals: int) -> Markup:
    """The best score so far, as a step line.

    Args:
        records: each new best score, oldest first, at least one.
        ends: the first and the last time to draw.
        decimals: digits after the point.
    """
    values = [record.score for record in records]
    low, high = min(values), max(values)
    margin = (high - low) * 0.08 or max(abs(high) * 0.05, 1.0)
    up = ChartScale(low=low - margin, high=high + margin)
    points = [*((record.at, record.score) for record in records), (ends[1], values[-1])]

    def height(value: float) -> float:
        return _HISTORY_AREA.y(up, value)

    line = _steps(0, points, ends, height, "best score")
    marks = [(value, number(value, decimals)) for value in ticks(up.low, up.high)]
    words = f"the best score from {day(ends[0])} to {day(ends[1])}: from {number(values[0], decimals)} to "
    words += number(values[-1], decimals)
    return _frame(marks, height, line, ends, words)


def places_chart(tracks: Sequence[RankHistory], ends: tuple[str, str]) -> Markup:
    """The place of each of a few entries, as step lines, the first place on top; a gap where an entry had no place.

    Args:
        tracks: the entries; at least one has a place.
        ends: the first and the last time to draw.
    """
    worst = max([place for track in tracks for _, place in track.places if place is not None], default=1)

    def height(place: float) -> float:
        return _HISTORY_AREA.top + 6 + (_HISTORY_AREA.height - 12) * ((place - 1) / max(worst - 1, 1))

    lines = Markup("").join(
        _steps(index, part, ends, height, track.entry.shown)
        for index, track in enumerate(tracks)
        for part in _parts(track, ends[1])
    )
    marks = [(float(place), str(place)) for place in _places(worst)]
    words = f"places from {day(ends[0])} to {day(ends[1])}"
    return _frame(marks, height, lines, ends, words)


def _parts(track: RankHistory, end: str) -> list[list[tuple[str, float]]]:
    """The periods in which an entry had a place, as points of time and place; the last point ends the period."""
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
    """A few round numbers between two numbers."""
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [step * index for index in range(first, last + 1)]


def _steps(
    index: int, points: Sequence[tuple[str, float]], ends: tuple[str, str], height: Callable[[float], float], name: str
) -> Markup:
    start, end = map(epoch_seconds, ends)
    across = ChartScale(low=start, high=max(end, start + 1))

    def x(at: str) -> float:
        return _HISTORY_AREA.x(across, epoch_seconds(at))

    path = f"M{x(points[0][0]):.1f},{height(points[0][1]):.1f}"
    path += "".join(f"H{x(at):.1f}V{height(value):.1f}" for at, value in points[1:])
    last = points[-1]
    circle = (x(last[0]), height(last[1]))
    return Markup(
        '<g class="pr-series-{}"><title>{}</title><path d="{}"/><circle cx="{:.1f}" cy="{:.1f}" r="3"/></g>'
    ).format(index, escape(name), path, *circle)


def _frame(
    marks: Sequence[tuple[float, str]],
    height: Callable[[float], float],
    lines: Markup,
    ends: tuple[str, str],
    words: str,
) -> Markup:
    left, right, bottom = _HISTORY_AREA.left, _HISTORY_AREA.width - _HISTORY_AREA.right, _HISTORY_AREA.height
    grid = Markup("").join(
        Markup(
            '<line class="pr-axis" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/><text x="{3}" y="{4:.1f}">{5}</text>'
        ).format(left, right, height(value), left - 6, height(value) + 3, escape(text))
        for value, text in marks
    )
    below = Markup('<text class="pr-first" x="{}" y="{}">{}</text><text x="{}" y="{}">{}</text>').format(
        left, bottom + 26, escape(day(ends[0])), right, bottom + 26, escape(day(ends[1]))
    )
    return Markup('<svg class="pr-history" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}{}{}</svg>').format(
        _HISTORY_AREA.width, bottom + 32, escape(words), grid, below, lines
    )
