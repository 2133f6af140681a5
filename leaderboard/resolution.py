"""How fine a board can tell: below which difference of scores nobody can say who is better."""

import math
import statistics
from collections.abc import Iterable
from itertools import pairwise

from leaderboard.core.standings import Estimate


def resolution(estimates: Iterable[Estimate]) -> float | None:
    """The median, over neighbours on the board, of the least difference of their scores that would be significant.

    Where two scores are independent, the margin of their difference is √(a² + b²) of their own margins (Welch's interval,
    see `leaderboard.significance`); here a and b are half the width of the 95 % intervals that the board shows, so that
    anybody can work it out again. Neighbours, since that is what readers ask about; the median, since one noisy entry says
    nothing of the rest.

    Args:
        estimates: in the order of the board.

    Returns:
        In the unit of the score; None where no two neighbours have intervals.
    """
    margins = [(one.high - one.low) / 2 for one in estimates if not math.isnan(one.low) and not math.isnan(one.high)]
    if len(margins) < 2:
        return None
    return statistics.median(math.hypot(a, b) for a, b in pairwise(margins))
