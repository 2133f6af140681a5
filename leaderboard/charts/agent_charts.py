"""The charts of agents' pages: how the returns are spread, and learning curves.

A leaderboard has thousands of these pages, so each chart is one or two paths. The HTML consists of numbers alone.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from leaderboard.core.arrays import Floats
from leaderboard.scoring.bootstrap import by_length, sorted_values
from leaderboard.scoring.intervals import row_sums
from leaderboard.scoring.metrics import LearningCurve, learning_curve
from leaderboard.text.escape_markdown import escape
from leaderboard.text.format import number, span

_BINS, _BIN_HEIGHT = 24, 20
_SHAPE = (
    f'<svg class="pr-shape" viewBox="0 0 {_BINS} {_BIN_HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
    f'<path d="M0 {_BIN_HEIGHT}'
)
_SHAPE_END = f'H{_BINS}V{_BIN_HEIGHT}z"/></svg>'
# By bin and height: the path commands from the left end of a bin to its height.
_STEPS = [[f"H{index}V{_BIN_HEIGHT - height}" for height in range(_BIN_HEIGHT + 1)] for index in range(_BINS)]
_CURVE_WIDTH, _CURVE_HEIGHT = 240, 60
# More points than the picture has pixel columns would be drawn over each other.
CURVE_POINTS = 200


class ValueSpread(NamedTuple):
    """Summary statistics of the returns of a result."""

    least: float
    lower: float
    """The lower quartile."""
    median: float
    upper: float
    """The upper quartile."""
    greatest: float
    mean: float
    deviation: float
    """Population standard deviation."""


def value_spreads(samples: Sequence[Sequence[float]]) -> list[tuple[ValueSpread, str]]:
    """The summary statistics of each result's returns, and a histogram of them as one outline.

    The outline is hidden from screen readers, since the numbers stand beside it. Results with equally many returns are
    computed together.

    Args:
        samples: the returns of each result, at least one each.
    """
    by_index: dict[int, tuple[ValueSpread, str]] = {}
    for chosen in by_length(samples):
        ordered = sorted_values([samples[i] for i in chosen], None)
        # The difference of the largest floats overflows.
        with np.errstate(all="ignore"):
            by_index |= zip(chosen.tolist(), zip(_spreads(ordered), _outlines(ordered), strict=True), strict=True)
    return [by_index[index] for index in range(len(samples))]


def _spreads(ordered: Floats) -> list[ValueSpread]:
    """Of ascending values, shape (results, episodes)."""
    means = row_sums(ordered) / ordered.shape[1]
    deviations = np.sqrt(((ordered - means[:, np.newaxis]) ** 2).mean(axis=1))
    quartiles = [_quantile(ordered, share).tolist() for share in (0.25, 0.5, 0.75)]
    columns = (ordered[:, 0].tolist(), *quartiles, ordered[:, -1].tolist(), means.tolist(), deviations.tolist())
    return [ValueSpread(*values) for values in zip(*columns, strict=True)]


def _quantile(ordered: Floats, share: float) -> Floats:
    """A quantile of each row, as `statistics.quantiles(…, method="inclusive")` defines it."""
    place = share * (ordered.shape[1] - 1)
    below = int(place)
    if place == below:
        return ordered[:, below]
    low, high = ordered[:, below], ordered[:, below + 1]
    interpolated: Floats = low + (high - low) * (place - below)
    return interpolated


def _outlines(ordered: Floats) -> list[str]:
    """One histogram for each row of ascending values; equal values are put into the middle bin."""
    least, width = ordered[:, :1], ordered[:, -1:] - ordered[:, :1]
    places = np.where(width > 0, _BINS / width * (ordered - least), _BINS // 2)
    bins = np.clip(np.nan_to_num(places), 0, _BINS - 1).astype(np.intp)
    rows = np.arange(len(ordered))[:, np.newaxis]
    counts = np.bincount((_BINS * rows + bins).ravel(), minlength=_BINS * len(ordered)).reshape(-1, _BINS)
    heights = np.rint(_BIN_HEIGHT * counts / counts.max(axis=1, keepdims=True))
    drawn = np.where(counts > 0, np.maximum(heights, 1), 0).astype(np.intp)
    return [_outline(row) for row in drawn.tolist()]


def _outline(heights: Sequence[int]) -> str:
    steps = [step[height] for step, height, before in zip(_STEPS, heights, [0, *heights], strict=False) if height != before]
    return f"{_SHAPE}{''.join(steps)}{_SHAPE_END}"


def learning_curve_svg(result: Result, task: Task) -> Markup | None:
    """The moving mean return against steps, up to the whole budget; None if no episode was finished."""
    curve = learning_curve(result, task.script)
    if curve is None:
        return None
    shown = curve_points(curve)
    low, high = min(value for _, value in shown), max(value for _, value in shown)
    reach = max(curve.rules.steps, shown[-1][0])
    line = " ".join(
        f"{_CURVE_WIDTH * steps / reach:.2f},{_height(value, low, high):.2f}"
        for steps, value in [*shown, (reach, shown[-1][1])]
    )
    words = escape(f"learning curve: mean returns from {span(low, high, task.decimals)} in {number(reach, 0)} steps")
    return Markup(
        '<svg class="pr-curve" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="img" aria-label="{words}">'
        '<line class="pr-axis" x1="0" x2="{w}" y1="{floor}" y2="{floor}"/>'
        '<polyline class="pr-line" fill="none" points="{line}"/></svg>'
    ).format(w=_CURVE_WIDTH, h=_CURVE_HEIGHT + 1, floor=_CURVE_HEIGHT + 0.5, words=words, line=line)


def curve_points(curve: LearningCurve) -> list[tuple[int, float]]:
    """Steps and moving mean return, at most `CURVE_POINTS` of them, at equal distances in episodes."""
    points = list(curve.points())
    count = min(CURVE_POINTS, len(points))
    return [points[index * (len(points) - 1) // max(1, count - 1)] for index in range(count)]


def _height(value: float, low: float, high: float) -> float:
    return _CURVE_HEIGHT - (_CURVE_HEIGHT - 3) * (value - low) / (high - low) if high > low else _CURVE_HEIGHT / 2


def curve_ends(result: Result, task: Task) -> tuple[float, float] | None:
    """The least and the greatest mean return on the curve."""
    curve = learning_curve(result, task.script)
    heights = [value for _, value in curve.points()] if curve else []
    return (min(heights), max(heights)) if heights else None
