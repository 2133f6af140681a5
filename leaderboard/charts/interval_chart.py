"""What pages show of a script: its learning curve, and what it claims beside what was measured."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from leaderboard.core.standings import Estimate
from leaderboard.scoring.metrics import learning_curve
from leaderboard.text.escape_markdown import escape
from leaderboard.text.format import number, span

_LEAST_WIDTH = 2.0
_STRIP_LOW, _STRIP_HIGH = -1.0, 2.0
_SLOT = 10
_BINS = 30


@dataclass(frozen=True, kw_only=True)
class ChartScale:
    """A stretch of the number line, drawn from 0 to 100."""

    low: float
    """Its left end."""
    high: float
    """Its right end."""
    marks: tuple[float, ...] = ()
    """Values with a tick: random and reference."""

    def at(self, value: float) -> float:
        """Where a value is drawn."""
        return min(100.0, max(0.0, 100 * (value - self.low) / (self.high - self.low)))


def chart_scale(estimates: Iterable[Estimate], marks: Sequence[float] = ()) -> ChartScale:
    """A scale that holds all of them with a little air; it has a width even where all are equal."""
    values = [value for e in estimates for value in (e.low, e.score, e.high) if not math.isnan(value)] + list(marks)
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    air = (high - low) * 0.04 or max(abs(high), 1.0)
    return ChartScale(low=low - air, high=high + air, marks=tuple(marks))


def task_scale(task: Task, estimates: Iterable[Estimate]) -> ChartScale:
    """The scale of a task's table, with its anchors."""
    return chart_scale(estimates, [anchor.score for anchor in (task.random, task.reference) if anchor])


def interval_svg(estimate: Estimate, scale: ChartScale, decimals: int) -> Markup:
    """A thin bar from the interval's low end to its high end, with a stroke at the score, which there must be."""
    if math.isnan(estimate.low):
        estimate = Estimate(score=estimate.score, low=estimate.score, high=estimate.score)
    left, right, middle = scale.at(estimate.low), scale.at(estimate.high), scale.at(estimate.score)
    if right - left < _LEAST_WIDTH:
        left = min(max(0.0, middle - _LEAST_WIDTH / 2), 100 - _LEAST_WIDTH)
        right = left + _LEAST_WIDTH
    words = f"{number(estimate.score, decimals)}, 95 % interval {span(estimate.low, estimate.high, decimals)}"
    ticks = Markup("").join(
        Markup('<line class="pr-mark" x1="{0}" x2="{0}" y1="1" y2="13"/>').format(_place(scale.at(mark)))
        for mark in scale.marks
    )
    return Markup(
        '<svg class="pr-bar" viewBox="0 0 100 14" preserveAspectRatio="none" role="img" aria-label="{words}">'
        '<line class="pr-axis" x1="0" x2="100" y1="7" y2="7"/>{ticks}'
        '<rect class="pr-span" x="{left}" y="4" width="{width}" height="6" rx="1"/>'
        '<line class="pr-score" x1="{middle}" x2="{middle}" y1="2" y2="12"/></svg>'
    ).format(words=escape(words), ticks=ticks, left=_place(left), width=_place(right - left), middle=_place(middle))


def task_strip(normalised: Sequence[tuple[str, float | None]]) -> Markup:
    """One upright bar per task, from -1 to 2, with 0 and 1 as lines; a dot where there is no score."""
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
        "pr-below" if drawn < 0 else "pr-above", left, _place(top), _place(max(height, 0.8)),
        escape(f"{name}: {number(value, 2)}"),
    )  # fmt: skip


def returns_histogram(values: Sequence[float], decimals: int) -> Markup:
    """How often returns of each size came; the ends are written below it."""
    low, high = min(values), max(values)
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, int(_BINS * (value - low) / (high - low))) if high > low else _BINS // 2] += 1
    bars = Markup("").join(
        Markup('<rect class="pr-above" x="{}" y="{}" width="3.4" height="{}"/>').format(
            _place(4 * i + 0.3), _place(40 - 38 * n / max(counts)), _place(38 * n / max(counts))
        )
        for i, n in enumerate(counts)
        if n
    )
    words = escape(f"returns from {span(low, high, decimals)}")
    return Markup(
        '<svg class="pr-histogram" viewBox="0 0 120 41" preserveAspectRatio="none" role="img" aria-label="{}">'
        '{}<line class="pr-axis" x1="0" x2="120" y1="40.5" y2="40.5"/></svg>'
    ).format(words, bars)


def _place(value: float) -> str:
    return f"{value:.2f}"


WIDTH, HEIGHT = 240, 60
# More points than the picture has columns would be drawn one over the other.
POINTS = 200


def learning_curve_svg(result: Result, task: Task) -> Markup | None:
    """The mean return of the last few episodes against the steps of the whole budget; None where none was finished."""
    found = learning_curve(result, task.script)
    if found is None:
        return None
    points = list(found.points())
    count = min(POINTS, len(points))
    shown = [points[index * (len(points) - 1) // max(1, count - 1)] for index in range(count)]
    low, high = min(value for _, value in shown), max(value for _, value in shown)
    reach = max(found.rules.steps, shown[-1][0])
    line = " ".join(
        f"{WIDTH * steps / reach:.2f},{_height(value, low, high):.2f}" for steps, value in [*shown, (reach, shown[-1][1])]
    )
    words = escape(f"learning curve: mean returns from {span(low, high, task.decimals)} in {number(reach, 0)} steps")
    return Markup(
        '<svg class="pr-curve" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="img" aria-label="{words}">'
        '<line class="pr-axis" x1="0" x2="{w}" y1="{floor}" y2="{floor}"/>'
        '<polyline class="pr-line" fill="none" points="{line}"/></svg>'
    ).format(w=WIDTH, h=HEIGHT + 1, floor=HEIGHT + 0.5, words=words, line=line)


def _height(value: float, low: float, high: float) -> float:
    return HEIGHT - (HEIGHT - 3) * (value - low) / (high - low) if high > low else HEIGHT / 2


def curve_ends(result: Result, task: Task) -> tuple[float, float] | None:
    """The least and the greatest height of the curve."""
    found = learning_curve(result, task.script)
    heights = [value for _, value in found.points()] if found else []
    return (min(heights), max(heights)) if heights else None


def is_other_claim(claimed: float, measured: float, decimals: int) -> bool:
    """Whether a claim differs from the mean that was measured by more than rounding."""
    return abs(claimed - measured) > 0.51 * 10.0**-decimals
