"""Pictures stay inside their frames."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.charts.interval_chart import chart_scale, interval_svg, task_strip
from leaderboard.core.standings import Estimate

numbers = st.floats(-1e9, 1e9)


@given(st.lists(numbers, min_size=3, max_size=3).map(sorted), st.lists(numbers, max_size=2))
def test_an_interval_stays_in_its_frame(values, marks):
    low, score, high = values
    estimate = Estimate(score=score, low=low, high=high)
    picture = interval_svg(estimate, chart_scale([estimate], marks), 1)
    left, width = (float(re.search(f' {name}="([^"]*)" [yh]', picture)[1]) for name in ("x", "width"))

    assert left >= 0
    assert width >= 1.99
    assert left + width <= 100.02


def test_a_scale_of_nothing_is_a_scale():
    assert chart_scale([]).at(0.5) == pytest.approx(50)


@given(st.lists(st.one_of(st.none(), numbers), max_size=9))
def test_a_strip_has_a_mark_for_each_task(values):
    picture = task_strip([(str(i), value) for i, value in enumerate(values)])

    assert picture.count("<title>") == len(values)
    assert all(0 <= float(y) <= 30 for y in re.findall(r'y="([^"]*)"', picture))
