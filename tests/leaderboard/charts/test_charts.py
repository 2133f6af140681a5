"""Pictures stay inside their frames."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.charts.interval_charts import (
    PLOTTED_ENTRIES,
    chart_scale,
    interval_svg,
    score_plot,
    table_scale,
    task_strip,
)
from leaderboard.core.entry import Estimate
from tests.leaderboard.pages import samples

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


def ranked(*scores: float, random: float | None = None):
    rows = [samples.row(samples.entry(f"a{i}"), samples.POLE, i + 1, score) for i, score in enumerate(scores)]
    aside = [] if random is None else [samples.row(samples.entry("random", baseline=True), samples.POLE, 9, random)]
    return samples.task_board(samples.POLE, [*rows, *aside])


def test_a_tables_scale_is_that_of_its_ranked_entries():
    scale = table_scale(ranked(490.0, 480.0, random=20.0))

    assert (scale.low, scale.high) == pytest.approx((474.2, 495.8), abs=1)
    assert scale.marks == (475,)
    assert "beyond this scale" in interval_svg(Estimate(score=20, low=15, high=25), scale, 1)
    assert table_scale(ranked(random=20.0)).low < 20


def test_the_plot_has_the_ranked_entries_an_axis_and_the_reference():
    picture = html.unescape(score_plot(ranked(490.0, 480.0, random=20.0)))

    assert picture.count("<circle") == 2
    assert "Score: higher is better" in picture
    assert ">reference</text>" in picture
    assert "a0: 490.0, 95 % interval 485.0 to 495.0, rank interval 1" in picture
    assert score_plot(ranked(random=20.0)) == ""


def test_the_plot_fits_the_entries_that_it_has():
    """Of hundreds, the first ones: on the axis of all they would lie in one corner."""
    scores = [500.0 - i for i in range(PLOTTED_ENTRIES)]
    few, many = score_plot(ranked(*scores)), score_plot(ranked(*scores, 40.0, 30.0))

    assert re.findall("<circle.*?>", many) == re.findall("<circle.*?>", few)
