"""Charts of a leaderboard's history: best score, places and ratings over time. The stylesheet sets the colours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial

from markupsafe import Markup

from leaderboard.charts.interval_charts import TICKS, ChartScale, ticks
from leaderboard.core.entry import Entry
from leaderboard.core.game_standings import GameStandings
from leaderboard.history import BestScore, RankHistory
from leaderboard.text.escape_markdown import escape
from leaderboard.text.format import day, number

# Players whose ratings are drawn: the stylesheet has this many colours for lines.
RATING_LINES = 8
# Pixels: the width of a picture, the height of the plot in it, and the space around the plot.
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT = 600, 200, 64, 10, 10


@dataclass(frozen=True, kw_only=True)
class RatingHistory:
    """A chart of ratings over time."""

    picture: Markup
    """A line for each player, of the classes `pr-series-0`, `pr-series-1`, …"""
    shown: tuple[Entry, ...]
    """The players, in the order of the lines."""


def _x(scale: ChartScale, value: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * scale.at(value) / 100


def _y(scale: ChartScale, value: float) -> float:
    return _TOP + _HEIGHT * (1 - scale.at(value) / 100)


def epoch_seconds(at: str) -> float:
    """A UTC time as seconds since the epoch."""
    return datetime.fromisoformat(at).astimezone(UTC).timestamp()


def best_score_chart(records: Sequence[BestScore], ends: tuple[str, str], decimals: int) -> Markup:
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

    height = partial(_y, up)
    line = _steps(0, points, ends, height, "best score")
    marks = [(value, number(value, decimals)) for value in ticks(up.low, up.high)]
    words = f"the best score from {day(ends[0])} to {day(ends[1])}: from {number(values[0], decimals)} to "
    words += number(values[-1], decimals)
    return _frame(marks, height, line, ends, words)


def places_chart(rank_histories: Sequence[RankHistory], ends: tuple[str, str]) -> Markup:
    """The place of each of a few entries, as step lines, the first place on top; a gap where an entry had no place.

    Args:
        rank_histories: the entries; at least one has a place.
        ends: the first and the last time to draw.
    """
    worst = max([place for ranks in rank_histories for _, place in ranks.places if place is not None], default=1)

    def height(place: float) -> float:
        return _TOP + 6 + (_HEIGHT - 12) * ((place - 1) / max(worst - 1, 1))

    lines = Markup("").join(
        _steps(index, part, ends, height, ranks.entry.shown)
        for index, ranks in enumerate(rank_histories)
        for part in _parts(ranks, ends[1])
    )
    marks = [(float(place), str(place)) for place in _places(worst)]
    words = f"places from {day(ends[0])} to {day(ends[1])}"
    return _frame(marks, height, lines, ends, words)


def rating_history(board: GameStandings) -> RatingHistory | None:
    """The first players' ratings by day; None before there are two days."""
    if len(board.history) < 2 or not board.rows:
        return None
    shown = tuple(row.entry for row in board.rows[:RATING_LINES])
    days = [float(date.fromisoformat(snapshot.day).toordinal()) for snapshot in board.history]
    ratings = [snapshot.elo[entry.name] for snapshot in board.history for entry in shown if entry.name in snapshot.elo]
    low, high = min([*ratings, 0.0]), max([*ratings, 0.0])
    margin = max(10.0, 0.06 * (high - low))
    across, up = ChartScale(low=days[0], high=max(days[-1], days[0] + 1)), ChartScale(low=low - margin, high=high + margin)

    height = partial(_y, up)
    lines = Markup("").join(
        _polyline(index, [(_x(across, at), height(elo)) for at, elo in _ratings_of(entry, days, board)], entry.shown)
        for index, entry in enumerate(shown)
    )
    marks = [(value, number(value, 0)) for value in ticks(up.low, up.high)]
    ends = (board.history[0].day, board.history[-1].day)
    return RatingHistory(picture=_frame(marks, height, lines, ends, "ratings from day to day"), shown=shown)


def _ratings_of(entry: Entry, days: Sequence[float], board: GameStandings) -> list[tuple[float, float]]:
    """Day and rating of one player."""
    pairs = zip(days, board.history, strict=True)
    return [(number_of_day, snapshot.elo[entry.name]) for number_of_day, snapshot in pairs if entry.name in snapshot.elo]


def _polyline(index: int, points: Sequence[tuple[float, float]], name: str) -> Markup:
    if not points:
        return Markup()
    line = Markup('<polyline points="{}"/>').format(" ".join(f"{x:.1f},{y:.1f}" for x, y in points))
    return _series(index, name, line, points[-1])


def _series(index: int, name: str, line: Markup, end: tuple[float, float]) -> Markup:
    return Markup('<g class="pr-series-{}"><title>{}</title>{}<circle cx="{:.1f}" cy="{:.1f}" r="3"/></g>').format(
        index, escape(name), line, *end
    )


def _parts(ranks: RankHistory, end: str) -> list[list[tuple[str, float]]]:
    """The periods in which an entry had a place, as points of time and place; the last point ends the period."""
    parts: list[list[tuple[str, float]]] = []
    current: list[tuple[str, float]] = []
    for at, place in (*ranks.places, (end, None)):
        if place is not None:
            current.append((at, float(place)))
        elif current:
            parts.append([*current, (at, current[-1][1])])
            current = []
    return parts


def _places(worst: int) -> list[int]:
    if worst <= TICKS + 3:
        return list(range(1, worst + 1))
    return sorted({1, worst, *(int(value) for value in ticks(1, worst) if 1 < value < worst * 0.93)})


def _steps(
    index: int, points: Sequence[tuple[str, float]], ends: tuple[str, str], height: Callable[[float], float], name: str
) -> Markup:
    first, last = map(epoch_seconds, ends)
    across = ChartScale(low=first, high=max(last, first + 1))

    def x(at: str) -> float:
        return _x(across, epoch_seconds(at))

    path = f"M{x(points[0][0]):.1f},{height(points[0][1]):.1f}"
    path += "".join(f"H{x(at):.1f}V{height(value):.1f}" for at, value in points[1:])
    end, value = points[-1]
    return _series(index, name, Markup('<path d="{}"/>').format(path), (x(end), height(value)))


def _frame(
    marks: Sequence[tuple[float, str]],
    height: Callable[[float], float],
    lines: Markup,
    ends: tuple[str, str],
    words: str,
) -> Markup:
    left, right, bottom = _LEFT, _WIDTH - _RIGHT, _HEIGHT
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
        _WIDTH, bottom + 32, escape(words), grid, below, lines
    )
