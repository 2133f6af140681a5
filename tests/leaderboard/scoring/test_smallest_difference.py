"""How fine a board can tell, from what it shows."""

import pytest

from leaderboard.core.standings import Estimate
from leaderboard.scoring.significance import smallest_difference

NAN = float("nan")


def estimate(score: float, margin: float) -> Estimate:
    return Estimate(score=score, low=score - margin, high=score + margin)


def test_it_is_the_median_over_neighbours():
    difference = smallest_difference([estimate(9, 3), estimate(8, 4), estimate(7, 3), estimate(1, 40)])

    assert difference == pytest.approx(5.0)


def test_one_alone_or_none_with_an_interval_says_nothing():
    single = Estimate(score=1.0, low=NAN, high=NAN)

    assert [smallest_difference([]), smallest_difference([estimate(1, 1)]), smallest_difference([single, single])] == [
        None,
        None,
        None,
    ]
