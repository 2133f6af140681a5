"""The pictures of an agent's page: each one is a path or two, since a board has thousands of these pages.

They are HTML, made of nothing but numbers.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from leaderboard.charts.interval_chart import ChartScale
from leaderboard.core.standings import Estimate
from leaderboard.scoring.bootstrap import Array, by_length, draw_sample

BINS, HEIGHT = 24, 20
_LEAST_WIDTH = 2.0
_SHAPE = (
    f'<svg class="pr-shape" viewBox="0 0 {BINS} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true"><path d="M0 {HEIGHT}'
)
_SHAPE_END = f'H{BINS}V{HEIGHT}z"/></svg>'
# By bin and height: what draws the outline from the left end of a bin to its height.
_STEPS = [[f"H{index}V{HEIGHT - height}" for height in range(HEIGHT + 1)] for index in range(BINS)]


class Spread(NamedTuple):
    """Where the returns of a result lie."""

    least: float
    """The smallest."""
    lower: float
    """The lower quartile."""
    median: float
    """The one in the middle."""
    upper: float
    """The upper quartile."""
    greatest: float
    """The largest."""
    mean: float
    """Their sum over their number."""
    deviation: float
    """Standard deviation, of all there are."""


def spreads(samples: Sequence[Sequence[float]]) -> list[tuple[Spread, str]]:
    """Where the returns of each result lie, and how often those of each size came, as one outline.

    The numbers beside an outline say the same to who listens. Results with equally many returns are worked out together.

    Args:
        samples: the returns of each result, at least one each.
    """
    found: dict[int, tuple[Spread, str]] = {}
    for chosen in by_length(samples):
        ordered = draw_sample([samples[i] for i in chosen], None)
        # The greatest returns that there are have no number for their width.
        with np.errstate(all="ignore"):
            found |= zip(chosen.tolist(), zip(_spreads(ordered), _outlines(ordered), strict=True), strict=True)
    return [found[index] for index in range(len(samples))]


def _spreads(ordered: Array) -> list[Spread]:
    """Of ascending values, shape (results, episodes)."""
    count = ordered.shape[1]
    means = [math.fsum(values) / count for values in ordered.tolist()]
    deviations = np.sqrt(((ordered - np.array(means)[:, np.newaxis]) ** 2).mean(axis=1))
    quartiles = [_quantile(ordered, share).tolist() for share in (0.25, 0.5, 0.75)]
    columns = (ordered[:, 0].tolist(), *quartiles, ordered[:, -1].tolist(), means, deviations.tolist())
    return [Spread(*one) for one in zip(*columns, strict=True)]


def _quantile(ordered: Array, share: float) -> Array:
    """As `statistics.quantiles(…, method="inclusive")` has it, row by row."""
    place = share * (ordered.shape[1] - 1)
    below = int(place)
    if place == below:
        return ordered[:, below]
    low, high = ordered[:, below], ordered[:, below + 1]
    found: Array = low + (high - low) * (place - below)
    return found


def _outlines(ordered: Array) -> list[str]:
    """One histogram for each row of ascending values; where all are equal they stand in the middle."""
    least, width = ordered[:, :1], ordered[:, -1:] - ordered[:, :1]
    places = np.where(width > 0, BINS / width * (ordered - least), BINS // 2)
    bins = np.clip(np.nan_to_num(places), 0, BINS - 1).astype(np.intp)
    rows = np.arange(len(ordered))[:, np.newaxis]
    counts = np.bincount((BINS * rows + bins).ravel(), minlength=BINS * len(ordered)).reshape(-1, BINS)
    heights = np.rint(HEIGHT * counts / counts.max(axis=1, keepdims=True))
    drawn = np.where(counts > 0, np.maximum(heights, 1), 0).astype(np.intp)
    return [_outline(own) for own in drawn.tolist()]


def _outline(heights: Sequence[int]) -> str:
    steps = [step[height] for step, height, before in zip(_STEPS, heights, [0, *heights], strict=False) if height != before]
    return f"{_SHAPE}{''.join(steps)}{_SHAPE_END}"


def bar(estimate: Estimate, scale: ChartScale) -> str:
    """A score among the others of its task: its interval and itself, in hundredths of the scale.

    The numbers stand beside it, so it says nothing to who listens. As a drawing it would be five times as long.
    """
    low, high = (estimate.score, estimate.score) if math.isnan(estimate.low) else (estimate.low, estimate.high)
    left, right, middle = scale.at(low), scale.at(high), scale.at(estimate.score)
    if right - left < _LEAST_WIDTH:
        left = min(max(0.0, middle - _LEAST_WIDTH / 2), 100 - _LEAST_WIDTH)
        right = left + _LEAST_WIDTH
    return f'<i class="pr-at" style="--l:{left:.1f};--w:{right - left:.1f};--m:{middle:.1f}"></i>'
