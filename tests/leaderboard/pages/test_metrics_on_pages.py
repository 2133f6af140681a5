"""What pages say of metrics: which way is better, in words; nothing where there is no value."""

import html
import re

import pytest

from evaluator.model.config.metric import Metric
from leaderboard.build_standings import build_standings
from leaderboard.charts.interval_charts import chart_scale, interval_svg
from leaderboard.comments.phrases import TextBar, text_chart
from leaderboard.core.entry import Estimate
from leaderboard.site_context import SiteContext
from leaderboard.text.format import number, span
from tests.leaderboard import make
from tests.leaderboard.pages.everything import render

NAN = float("nan")
OWN = "module:function"
COST = Metric(name="Cost & more", kind=OWN, direction="lower", decimals=2, description="What it costs.")
RETURN = Metric(name="Return", kind="mean_return", direction="higher", decimals=3)
TASK = make.task("task", anchors=(9, 1), metrics=(COST, RETURN), ties=("Return",), weight=2)
OTHER = make.task("other")
WHO = [make.entry(login) for login in ("alice", "bob", "carol")]


@pytest.fixture(scope="module")
def pages():
    results = [
        make.result(WHO[0], [1.0] * 3, on=TASK, metrics={OWN: 4.0, f"{OWN}:error": 0.5}),
        make.result(WHO[1], [2.0] * 3, on=TASK, metrics={OWN: -3.0}),
        make.result(WHO[2], [3.0] * 3, on=TASK),
        *[make.result(who, [0.5] * 3, on=OTHER) for who in WHO],
    ]
    return render(build_standings(make.challenge(TASK, OTHER), WHO, results, official=True), SiteContext(generated_at="now"))


def words(text):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_the_task_page_says_which_way_is_better_and_shows_every_metric(pages):
    text = words(pages["tasks/task.md"])

    assert "Cost & more ↓ lower is better 95 % interval Algorithm" in text
    assert "broken by Return" in text
    assert "What it costs." in text
    assert re.search(r"bob\b.*alice\b.*carol\b", text)


def test_who_has_no_value_has_no_medal_no_bar_and_a_dash(pages):
    rows = pages["tasks/task.md"].split("<tr")
    (row,) = [one for one in rows if 'title="carol"' in one]
    row = html.unescape(row.split("</tr>")[0])

    assert "pr-medal" not in row
    assert "<svg" not in row
    assert "no value" in row


def test_the_best_of_lower_is_better_is_the_lowest(pages):
    assert "−3.00" in words(pages["tasks/index.md"])
    assert "Cost & more, lower is better" in words(pages["index.md"])


def test_the_home_page_names_weights_only_where_they_differ(pages):
    plain = render(build_standings(make.challenge(OTHER), WHO, [], official=True), SiteContext(generated_at="now"))
    results = [make.result(who, [0.5] * 3, on=OTHER) for who in WHO]
    equal = render(build_standings(make.challenge(OTHER), WHO, results, official=True), SiteContext(generated_at="now"))

    assert "The weighted mean of the normalised scores on all tasks" in words(pages["index.md"])
    assert "Weights: task 2, other 1." in words(pages["index.md"])
    assert "eight" not in words(plain["index.md"]) + words(equal["index.md"])


def test_no_page_shows_nan(pages):
    assert not [path for path, text in pages.items() if re.search(r"\bnan\b", text, re.IGNORECASE)]


def test_the_agents_page_lists_its_metrics(pages):
    text = words(pages["agents/alice/agent.md"])

    assert "Cost & more 4.00 , lower is better" in text
    assert "Return 1.000 , higher is better" in text
    assert f"{OWN}:error" not in text


def test_a_board_without_metrics_says_that_higher_is_better(pages):
    assert "Score ↑ higher is better" in words(pages["tasks/other.md"])


def test_pictures_and_numbers_of_what_there_is_not():
    missing, single = Estimate(score=NAN, low=NAN, high=NAN), Estimate(score=2.0, low=NAN, high=NAN)
    scale = chart_scale([missing, single], [1.0])

    assert (number(NAN), span(NAN, 1.0)) == ("–", "–")
    assert (scale.low < 1.0, scale.high > 2.0) == (True, True)
    assert "nan" not in interval_svg(single, scale, 1)
    assert text_chart([TextBar(name="this", estimate=missing)], 1) == ""
    assert "nan" not in text_chart([TextBar(name="this", estimate=single), TextBar(name="before", estimate=missing)], 1)
