"""How fine a leaderboard can tell, from what it shows."""

from dataclasses import replace

import pytest

from leaderboard.core.entry import Estimate
from leaderboard.core.standings import TaskRow
from leaderboard.scoring.significance import smallest_difference
from tests.leaderboard import make

NAN = float("nan")


def row(score: float, margin: float, *, baseline: bool = False) -> TaskRow:
    entry = replace(make.entry("a"), baseline=baseline)
    estimate = Estimate(score=score, low=score - margin, high=score + margin)
    place = {"place": 1, "rank_low": 1, "rank_high": 1, "with_leader": False}
    results = (make.result(entry, [score]),)
    return TaskRow(entry=entry, pooled_results=results, estimate=estimate, versions_tried=1, since=make.NOON, **place)


def test_it_is_the_median_over_neighbours():
    difference = smallest_difference([row(9, 3), row(8, 4), row(7, 3), row(1, 40)])

    assert difference == pytest.approx(5.0)


def test_baselines_take_no_part():
    difference = smallest_difference([row(9, 3), row(8.5, 100, baseline=True), row(8, 4), row(7, 200, baseline=True)])

    assert difference == pytest.approx(5.0)


@pytest.mark.parametrize("rows", [[], [row(1, 1)], [row(1, NAN), row(2, NAN)], [row(2, 1, baseline=True), row(1, 1)]])
def test_fewer_than_two_ranked_entries_with_an_interval_tell_nothing(rows):
    assert smallest_difference(rows) is None
