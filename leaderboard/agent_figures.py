"""The pictures of an agent's page: each one is a path or two, since a board has thousands of these pages."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from leaderboard.figures import Scale
from leaderboard.standings import Estimate

BINS, HEIGHT = 24, 20
_LEAST_WIDTH = 2.0


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


def histogram(values: Sequence[float], least: float, greatest: float) -> Markup:
    """How often returns of each size came, as one outline. The numbers beside it say the same to who listens."""
    if greatest > least:
        scale = BINS / (greatest - least)
        bins = (scale * (np.array(values, dtype=np.float64) - least)).astype(np.intp)
        counts = np.bincount(np.minimum(bins, BINS - 1), minlength=BINS).tolist()
    else:
        counts = [len(values) if index == BINS // 2 else 0 for index in range(BINS)]
    most, line, last = max(counts), f"M0 {HEIGHT}", 0
    for index, count in enumerate(counts):
        height = max(1, round(HEIGHT * count / most)) if count else 0
        if height != last:
            line += f"H{index}V{HEIGHT - height}"
            last = height
    return Markup(
        f'<svg class="pr-shape" viewBox="0 0 {BINS} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'<path d="{line}H{BINS}V{HEIGHT}z"/></svg>'
    )


def bar(estimate: Estimate, scale: Scale) -> Markup:
    """A score among the others of its task: its interval and itself, in hundredths of the scale.

    The numbers stand beside it, so it says nothing to who listens. As a drawing it would be five times as long.
    """
    low, high = (estimate.score, estimate.score) if math.isnan(estimate.low) else (estimate.low, estimate.high)
    left, right, middle = scale.at(low), scale.at(high), scale.at(estimate.score)
    if right - left < _LEAST_WIDTH:
        left = min(max(0.0, middle - _LEAST_WIDTH / 2), 100 - _LEAST_WIDTH)
        right = left + _LEAST_WIDTH
    return Markup(f'<i class="pr-at" style="--l:{left:.1f};--w:{right - left:.1f};--m:{middle:.1f}"></i>')
