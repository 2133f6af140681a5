"""The intervals of a leaderboard's first entries as one plot with an axis, to be read by itself and to be downloaded."""

import bisect
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from markupsafe import Markup

from leaderboard.charts.history_charts import ticks
from leaderboard.charts.table_bars import ChartScale, as_point, rating_scale, table_scale
from leaderboard.core.game_standings import GameRow, GameStandings
from leaderboard.core.standings import TaskRow, TaskStandings
from leaderboard.scoring.metrics import better, digits, ranking_metric
from leaderboard.text.escape_markdown import escape
from leaderboard.text.format import number, ranks, span

Ranked = TypeVar("Ranked", TaskRow, GameRow)
PLOTTED_ENTRIES = 20
# Widths of letters in pixels, on the safe side: capitals and other scripts are taken for wide.
_NARROW, _NARROW_PX, _WIDE_PX = re.compile(r"[a-ln-vx-z0-9 !-/:;]"), 7.0, 12.0
_WIDTH, _ROW, _TOP, _BOTTOM = 720, 24, 26, 46
_LEFT, _RIGHT = 180, 16


@dataclass(frozen=True, kw_only=True)
class PlotAxis:
    """The axis below all intervals."""

    title: str
    scale: ChartScale
    decimals: int
    marks: tuple[tuple[float, str], ...]
    """Values with a line across the figure, each with its name."""


def score_plot(board: TaskStandings) -> Markup:
    """The scores of a task; empty without an entry that has a place."""
    rows = _plotted(board.rows)
    metric, scale = ranking_metric(board.task), table_scale(board, rows)
    anchors = [
        (anchor.score, name)
        for name, anchor in (("random", board.task.random), ("reference", board.task.reference))
        if anchor
    ]
    axis = PlotAxis(
        title=f"{metric.name}: {better(metric)}", scale=scale, decimals=digits(board.task),
        marks=tuple((value, name) for value, name in anchors if value in scale.marks),
    )  # fmt: skip
    return _plot(rows, axis)


def rating_plot(board: GameStandings) -> Markup:
    """The ratings of a game; empty without a player that has a place."""
    rows = _plotted(board.rows)
    scale = rating_scale(board, rows)
    marks = tuple((value, f"{board.display_name(board.anchor)} = 0") for value in scale.marks if board.anchor)
    axis = PlotAxis(title="Rating (Elo): higher is better", scale=scale, decimals=0, marks=marks)
    return _plot(rows, axis)


def _plotted(rows: Sequence[Ranked]) -> list[Ranked]:
    return [row for row in rows if not (row.is_unranked or row.estimate.is_missing)][:PLOTTED_ENTRIES]


def _plot(shown: Sequence[TaskRow | GameRow], axis: PlotAxis) -> Markup:
    if not shown:
        return Markup()
    base = _TOP + _ROW * len(shown)
    lines = Markup("").join(_line(row, axis, _TOP + _ROW * index + _ROW // 2) for index, row in enumerate(shown))
    marked = Markup("").join(_mark(value, name, axis, base) for value, name in axis.marks)
    return Markup(
        '<svg class="pr-plot" viewBox="0 0 {width} {height}" role="img" aria-label="{words}">{ticks}{marks}{lines}'
        '<text class="pr-plot-title" x="{centre}" y="{below}">{title}</text></svg>'
    ).format(
        width=_WIDTH, height=base + _BOTTOM, centre=(_LEFT + _WIDTH - _RIGHT) / 2, below=base + 38, lines=lines,
        marks=marked, ticks=_ticks(axis, base), title=escape(axis.title),
        words=escape(f"95 % intervals of the first {len(shown)}. {axis.title}. The numbers are in the table."),
    )  # fmt: skip


def _line(row: TaskRow | GameRow, axis: PlotAxis, middle: int) -> Markup:
    name, estimate = row.entry.submission.name, as_point(row.estimate)
    interval = span(estimate.low, estimate.high, axis.decimals)
    words = (
        f"{name}: {number(estimate.score, axis.decimals)}, 95 % interval {interval}, "
        f"rank interval {ranks(row.rank_low, row.rank_high)}"
    )
    return Markup(
        '<g class="pr-plot-row{leading}"><title>{words}</title><rect x="0" y="{top}" width="{width}" height="{row}"/>'
        '<text x="{end}" y="{base}">{name}</text><line x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>'
        '<circle cx="{score}" cy="{y}" r="4"/></g>'
    ).format(
        leading=" pr-plot-leading" if row.with_leader else "", words=escape(words), top=middle - _ROW // 2, width=_WIDTH,
        row=_ROW, end=_LEFT - 12, base=middle + 4, name=escape(_clipped(name)),
        low=_x(estimate.low, axis), high=_x(estimate.high, axis), score=_x(estimate.score, axis), y=middle,
    )  # fmt: skip


def _clipped(name: str) -> str:
    """As much of a name as there is room for beside its interval."""
    widths = list(itertools.accumulate(_NARROW_PX if _NARROW.match(letter) else _WIDE_PX for letter in name))
    room = _LEFT - 16
    return name if widths[-1] <= room else f"{name[: bisect.bisect(widths, room - _WIDE_PX)]}…"


def _mark(value: float, name: str, axis: PlotAxis, base: int) -> Markup:
    return Markup(
        '<line class="pr-plot-mark" x1="{x}" x2="{x}" y1="{top}" y2="{base}"/>'
        '<text class="pr-plot-mark-name" x="{x}" y="14">{name}</text>'
    ).format(x=_x(value, axis), top=_TOP - 6, base=base, name=escape(name))


def _ticks(axis: PlotAxis, base: int) -> Markup:
    values = ticks(axis.scale.low, axis.scale.high)
    apart = min((b - a for a, b in itertools.pairwise(values)), default=1.0)
    decimals = next((count for count in range(4) if abs(round(apart, count) - apart) < apart * 1e-6), 3)
    return Markup("").join(
        Markup(
            '<line class="pr-plot-tick" x1="{x}" x2="{x}" y1="{top}" y2="{base}"/>'
            '<text class="pr-plot-value" x="{x}" y="{below}">{words}</text>'
        ).format(x=_x(value, axis), top=_TOP, base=base + 4, below=base + 18, words=number(value, decimals))
        for value in values
    )


def _x(value: float, axis: PlotAxis) -> str:
    return f"{_LEFT + (_WIDTH - _RIGHT - _LEFT) * axis.scale.at(value) / 100:.1f}"
