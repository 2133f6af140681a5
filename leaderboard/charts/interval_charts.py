"""Confidence intervals, as bars in the cells of tables and as one plot, their scales, and the strip of normalised scores."""

import bisect
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from markupsafe import Markup

from evaluator.model.config.task import Task
from leaderboard.core.entry import INTERVAL_NAME, Estimate
from leaderboard.core.game_standings import GameRow, GameStandings
from leaderboard.core.standings import TaskRow, TaskStandings
from leaderboard.scoring.metrics import better, digits, ranking_metric
from leaderboard.text.escape_markdown import escape
from leaderboard.text.format import number, ranks, span

# Lines across a chart, about.
TICKS = 5
# A bar is drawn at least this wide, in hundredths of the scale.
_LEAST_WIDTH = 2.0
_STRIP_LOW, _STRIP_HIGH = -1.0, 2.0
# Width of one task in the strip, in pixels.
_SLOT = 10
# An entry whose whole interval lies beyond the scale, such as a random agent far below those that are ranked.
_BEYOND = (
    '<svg class="pr-bar" viewBox="0 0 100 14" preserveAspectRatio="none" role="img" aria-label="{words}">'
    '<line class="pr-axis" x1="0" x2="100" y1="7" y2="7"/><path class="pr-beyond" d="{arrow}"/></svg>'
)


@dataclass(frozen=True, kw_only=True)
class ChartScale:
    """A stretch of the number line, drawn from 0 to 100."""

    low: float
    high: float
    marks: tuple[float, ...] = ()
    """Values with a tick: random and reference."""

    def at(self, value: float) -> float:
        """The position of a value, clipped to 0 to 100."""
        return min(100.0, max(0.0, 100 * (value - self.low) / (self.high - self.low)))


def ticks(low: float, high: float) -> list[float]:
    """A few round numbers between two numbers."""
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    # Next to the smallest number there is, a power of ten can be rounded by half.
    step = next((power * times for times in (1, 2, 5, 10) if power * times >= rough), rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [step * index for index in range(first, last + 1)]


def chart_scale(estimates: Iterable[Estimate], marks: Sequence[float] = ()) -> ChartScale:
    """A scale that holds all estimates and marks with a margin; it has a width even where all are equal."""
    values = [value for e in estimates for value in (e.low, e.score, e.high) if not math.isnan(value)] + list(marks)
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    air = (high - low) * 0.04 or max(abs(high), 1.0)
    return ChartScale(low=low - air, high=high + air, marks=tuple(marks))


def task_scale(task: Task, estimates: Iterable[Estimate]) -> ChartScale:
    """The scale of a task's table, with the random and the reference score as marks."""
    return chart_scale(estimates, _reference_scores(task))


def _reference_scores(task: Task) -> list[float]:
    return [reference_score.score for reference_score in (task.random, task.reference) if reference_score]


def rating_scale(board: GameStandings, rows: Sequence[GameRow] | None = None) -> ChartScale:
    """The scale of a game's table, or of some of its rows, with a tick at 0, the rating of the anchor, where it is near."""
    return _zoomed_scale(board.rows if rows is None else rows, [0.0])


def table_scale(board: TaskStandings, rows: Sequence[TaskRow] | None = None) -> ChartScale:
    """The scale of a task's table, or of some rows: of ranked entries, with the reference scores where they are near."""
    return _zoomed_scale(board.rows if rows is None else rows, _reference_scores(board.task))


def _zoomed_scale(rows: Sequence[TaskRow | GameRow], marks: Sequence[float]) -> ChartScale:
    """A scale for entries with a place, or for all if none has one; with the marks that are at most half its width away."""
    scored = [row for row in rows if not row.estimate.is_missing]
    shown = [row.estimate for row in scored if not row.is_unranked] or [row.estimate for row in scored]
    if not shown:
        return chart_scale([], marks)
    scale = chart_scale(shown)
    reach = (scale.high - scale.low) / 2
    return chart_scale(shown, [mark for mark in marks if scale.low - reach <= mark <= scale.high + reach])


def as_point(estimate: Estimate) -> Estimate:
    """The estimate itself, or an interval of width zero where it has none."""
    score = estimate.score
    return Estimate(score=score, low=score, high=score) if math.isnan(estimate.low) else estimate


def _bar(estimate: Estimate, scale: ChartScale) -> tuple[float, float, float]:
    """The left end and the width of the interval, and the position of the score, each 0 to 100."""
    estimate = as_point(estimate)
    left, right, middle = scale.at(estimate.low), scale.at(estimate.high), scale.at(estimate.score)
    if right - left < _LEAST_WIDTH:
        left = min(max(0.0, middle - _LEAST_WIDTH / 2), 100 - _LEAST_WIDTH)
        right = left + _LEAST_WIDTH
    return left, right - left, middle


def _is_beyond(estimate: Estimate, scale: ChartScale) -> bool:
    return estimate.high < scale.low or estimate.low > scale.high


def has_arrows(rows: Iterable[TaskRow | GameRow], scale: ChartScale) -> bool:
    """Whether some row's bar is an arrow, since its whole interval lies beyond the scale."""
    return any(_is_beyond(as_point(row.estimate), scale) for row in rows if not row.estimate.is_missing)


def interval_svg(estimate: Estimate, scale: ChartScale, decimals: int) -> Markup:
    """A thin bar from the low to the high end of the interval, with a stroke at the score, which must not be NaN."""
    left, width, middle = _bar(estimate, scale)
    words = f"{number(estimate.score, decimals)}, {INTERVAL_NAME} {span(estimate.low, estimate.high, decimals)}"
    estimate = as_point(estimate)
    if _is_beyond(estimate, scale):
        arrow = "M8 2 2 7 8 12" if estimate.high < scale.low else "M92 2 98 7 92 12"
        return Markup(_BEYOND).format(words=escape(f"{words}, beyond this scale"), arrow=arrow)
    ticks = Markup("").join(
        Markup('<line class="pr-mark" x1="{0}" x2="{0}" y1="1" y2="13"/>').format(_coordinate(scale.at(mark)))
        for mark in scale.marks
    )
    return Markup(
        '<svg class="pr-bar" viewBox="0 0 100 14" preserveAspectRatio="none" role="img" aria-label="{words}">'
        '<line class="pr-axis" x1="0" x2="100" y1="7" y2="7"/>{ticks}'
        '<rect class="pr-span" x="{left}" y="4" width="{width}" height="6" rx="1"/>'
        '<line class="pr-score" x1="{middle}" x2="{middle}" y1="2" y2="12"/></svg>'
    ).format(words=escape(words), ticks=ticks, left=_coordinate(left), width=_coordinate(width), middle=_coordinate(middle))


def interval_element(estimate: Estimate, scale: ChartScale) -> Markup:
    """The same bar as one HTML element that the stylesheet draws, a fifth of the size of the SVG.

    It has no label: for screen readers the numbers stand beside it.
    """
    left, width, middle = _bar(estimate, scale)
    return Markup(f'<i class="pr-at" style="--l:{left:.1f};--w:{width:.1f};--m:{middle:.1f}"></i>')


def task_strip(normalised: Sequence[tuple[str, float | None]]) -> Markup:
    """One vertical bar per task, from -1 to 2, with lines at 0 and 1; a dot where there is no score."""
    bars = Markup("").join(_strip_bar(index, *pair) for index, pair in enumerate(normalised))
    width = max(1, _SLOT * len(normalised))
    return Markup(
        '<svg class="pr-strip" viewBox="0 0 {w} 30" width="{w}" height="30" role="img" aria-label="{words}">'
        '<line class="pr-axis" x1="0" x2="{w}" y1="20" y2="20"/><line class="pr-mark" x1="0" x2="{w}" y1="10" y2="10"/>'
        "{bars}</svg>"
    ).format(w=width, bars=bars, words=escape("normalised score of each task"))


def _strip_bar(index: int, name: str, value: float | None) -> Markup:
    left = _SLOT * index + 1
    if value is None:
        words = escape(f"{name}: no score")
        return Markup('<circle class="pr-none" cx="{}" cy="20" r="1.5"><title>{}</title></circle>').format(left + 4, words)
    drawn = min(_STRIP_HIGH, max(_STRIP_LOW, value)) * 10
    top, height = (20 - drawn, drawn) if drawn >= 0 else (20.0, -drawn)
    return Markup('<rect class="{}" x="{}" y="{}" width="8" height="{}" rx="1"><title>{}</title></rect>').format(
        "pr-below" if drawn < 0 else "pr-above", left, _coordinate(top), _coordinate(max(height, 0.8)),
        escape(f"{name}: {number(value, 2)}"),
    )  # fmt: skip


def _coordinate(value: float) -> str:
    return f"{value:.2f}"


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
    reference_scores = [
        (reference_score.score, name)
        for name, reference_score in (("random", board.task.random), ("reference", board.task.reference))
        if reference_score
    ]
    axis = PlotAxis(
        title=f"{metric.name}: {better(metric)}", scale=scale, decimals=digits(board.task),
        marks=tuple((value, name) for value, name in reference_scores if value in scale.marks),
    )  # fmt: skip
    return _plot(rows, axis)


def rating_plot(board: GameStandings) -> Markup:
    """The ratings of a game; empty without a player that has a place."""
    rows = _plotted(board.rows)
    scale = rating_scale(board, rows)
    marks = tuple((value, f"{board.agent_title(board.anchor)} = 0") for value in scale.marks if board.anchor)
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
        words=escape(f"{INTERVAL_NAME}s of the first {len(shown)}. {axis.title}. The numbers are in the table."),
    )  # fmt: skip


def _line(row: TaskRow | GameRow, axis: PlotAxis, middle: int) -> Markup:
    name, estimate = row.entry.submission.name, as_point(row.estimate)
    interval = span(estimate.low, estimate.high, axis.decimals)
    words = (
        f"{name}: {number(estimate.score, axis.decimals)}, {INTERVAL_NAME} {interval}, "
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
