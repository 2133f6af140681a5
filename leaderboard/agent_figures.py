"""The pictures of an agent's page: each one is a path or two, since a board has thousands of these pages.

They are HTML, made of nothing but numbers.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.figures import Scale
from leaderboard.standings import Estimate

BINS, HEIGHT = 24, 20
_LEAST_WIDTH = 2.0
_SHAPE = (
    f'<svg class="pr-shape" viewBox="0 0 {BINS} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true"><path d="M0 {HEIGHT}'
)
_SHAPE_END = f'H{BINS}V{HEIGHT}z"/></svg>'
# By bin and height: what draws the outline from the left end of a bin to its height.
_STEPS = [[f"H{index}V{HEIGHT - height}" for height in range(HEIGHT + 1)] for index in range(BINS)]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Where returns lie."""

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


def spread(returns: Sequence[float]) -> Spread:
    """Quartiles are `statistics.quantiles(…, method="inclusive")`, which takes ten times as long for all of it."""
    ordered, count = np.sort(np.array(returns, dtype=np.float64)), len(returns)
    values: list[float] = ordered.tolist()
    mean = math.fsum(values) / count
    lower, median, upper = (_quantile(values, share) for share in (0.25, 0.5, 0.75))
    variance = math.fsum(((ordered - mean) ** 2).tolist()) / count
    return Spread(
        least=values[0], lower=lower, median=median, upper=upper, greatest=values[-1], mean=mean,
        deviation=math.sqrt(variance),
    )  # fmt: skip


def _quantile(values: Sequence[float], share: float) -> float:
    place = share * (len(values) - 1)
    below = int(place)
    if place == below:
        return values[below]
    return values[below] + (values[below + 1] - values[below]) * (place - below)


def histogram(values: Sequence[float], least: float, greatest: float) -> str:
    """How often returns of each size came, as one outline. The numbers beside it say the same to who listens."""
    if greatest > least:
        scale = BINS / (greatest - least)
        bins = (scale * (np.array(values, dtype=np.float64) - least)).astype(np.intp)
        counts = np.bincount(np.minimum(bins, BINS - 1), minlength=BINS).tolist()
    else:
        counts = [len(values) if index == BINS // 2 else 0 for index in range(BINS)]
    most = max(counts)
    heights = [_height(count, most) for count in counts]
    steps = [step[height] for step, height, before in zip(_STEPS, heights, [0, *heights], strict=False) if height != before]
    return f"{_SHAPE}{''.join(steps)}{_SHAPE_END}"


@functools.lru_cache(maxsize=4096)
def _height(count: int, most: int) -> int:
    """How high a bin of that many is drawn; the same few come again and again."""
    return max(1, round(HEIGHT * count / most)) if count else 0


def bar(estimate: Estimate, scale: Scale) -> str:
    """A score among the others of its task: its interval and itself, in hundredths of the scale.

    The numbers stand beside it, so it says nothing to who listens. As a drawing it would be five times as long.
    """
    low, high = (estimate.score, estimate.score) if math.isnan(estimate.low) else (estimate.low, estimate.high)
    left, right, middle = scale.at(low), scale.at(high), scale.at(estimate.score)
    if right - left < _LEAST_WIDTH:
        left = min(max(0.0, middle - _LEAST_WIDTH / 2), 100 - _LEAST_WIDTH)
        right = left + _LEAST_WIDTH
    return f'<i class="pr-at" style="--l:{left:.1f};--w:{right - left:.1f};--m:{middle:.1f}"></i>'
