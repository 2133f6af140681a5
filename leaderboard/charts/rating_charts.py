"""Charts of ratings: the scale of their intervals, and the ratings by day."""

from dataclasses import dataclass
from datetime import date

from markupsafe import Markup

from leaderboard.charts.history_charts import PlotArea
from leaderboard.charts.interval_chart import ChartScale, chart_scale
from leaderboard.core.entry import Entry
from leaderboard.core.game_standings import GameStandings, Rating
from leaderboard.core.standings import Estimate
from leaderboard.text.escape_markdown import escape
from leaderboard.text.format import number

# The stylesheet has this many colours for lines.
RATING_LINES = 8
_RATING_AREA = PlotArea(width=600, height=200, left=40, top=8, right=8)


def rating_estimate(rating: Rating) -> Estimate:
    """A rating in the form that charts of scores take."""
    return Estimate(score=rating.elo, low=rating.low, high=rating.high)


def rating_scale(board: GameStandings) -> ChartScale:
    """The scale of a game's table, with a tick at 0, the rating of the anchor."""
    return chart_scale((rating_estimate(row.rating) for row in board.rows), [0.0])


@dataclass(frozen=True, kw_only=True)
class RatingHistory:
    """A chart of ratings over time, and whose they are."""

    picture: Markup
    """A line for each player, of the classes `pr-series-0`, `pr-series-1`, …"""
    shown: tuple[Entry, ...]
    """The players, in the order of the lines."""


def rating_history(board: GameStandings) -> RatingHistory | None:
    """The first players' ratings by day; None before there are two days."""
    if len(board.history) < 2 or not board.rows:
        return None
    shown = tuple(row.entry for row in board.rows[:RATING_LINES])
    days = [_day_number(moment.day) for moment in board.history]
    values = [moment.elo[e.name] for moment in board.history for e in shown if e.name in moment.elo]
    low, high = min([*values, 0.0]), max([*values, 0.0])
    margin = max(10.0, 0.06 * (high - low))
    across = ChartScale(low=days[0], high=max(days[-1], days[0] + 1))
    up = ChartScale(low=low - margin, high=high + margin)
    lines = []
    for index, entry in enumerate(shown):
        points = [
            (_RATING_AREA.x(across, day), _RATING_AREA.y(up, moment.elo[entry.name]))
            for day, moment in zip(days, board.history, strict=True)
            if entry.name in moment.elo
        ]
        lines.append(_line(index, points, entry.shown))
    picture = _frame(board, up, Markup("").join(lines))
    return RatingHistory(picture=picture, shown=shown)


def _day_number(day: str) -> float:
    return float(date.fromisoformat(day[:10]).toordinal())


def _line(index: int, points: list[tuple[float, float]], name: str) -> Markup:
    if not points:
        return Markup()
    x, y = points[-1]
    points_text = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
    return Markup(
        '<g class="pr-series-{}"><title>{}</title><polyline points="{}"/><circle cx="{:.1f}" cy="{:.1f}" r="3"/></g>'
    ).format(index, escape(name), points_text, x, y)


def _frame(board: GameStandings, up: ChartScale, lines: Markup) -> Markup:
    right, bottom = _RATING_AREA.width - _RATING_AREA.right, _RATING_AREA.height
    marks = Markup("").join(_tick(value, _RATING_AREA.y(up, value), right) for value in _ticks(up))
    ends = Markup('<text class="pr-first" x="{}" y="{}">{}</text><text x="{}" y="{}">{}</text>').format(
        _RATING_AREA.left, bottom + 24, escape(board.history[0].day), right, bottom + 24, escape(board.history[-1].day)
    )
    return Markup(
        '<svg class="pr-history" viewBox="0 0 {} {}" role="img" aria-label="ratings from day to day">{}{}{}</svg>'
    ).format(_RATING_AREA.width, bottom + 30, marks, ends, lines)


def _tick(value: float, y: float, right: float) -> Markup:
    return Markup('<line class="pr-axis" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/><text x="{}" y="{:.1f}">{}</text>').format(
        _RATING_AREA.left, right, y, y, _RATING_AREA.left - 6, y + 4, number(value, 0)
    )


def _ticks(scale: ChartScale) -> list[float]:
    step = next((s for s in (10, 20, 50, 100, 200, 500, 1000) if (scale.high - scale.low) / s <= 6), 5000)
    first = int(scale.low // step) + 1
    return [float(step * n) for n in range(first, int(scale.high // step) + 1)]
