"""The compare page as a reader uses it, in a real browser."""

import json
import re
import urllib.request

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.whole import HOSTILE, LONG

TWO = "compare/?task=CartPole-v1&agents=alice/first,bob/second"


@pytest.fixture(scope="module")
def site(whole_site):
    return whole_site


def chosen(page):
    return page.locator(".pr-chosen li bdi")


def section(page, title):
    return page.locator("#pr-compare section").filter(has=page.get_by_role("heading", name=title, exact=True))


def agent(site, name):
    with urllib.request.urlopen(f"{site}api/agents/{name}.json") as answer:
        return json.load(answer)


def test_the_address_says_who_is_compared(visit):
    page = visit(TWO)

    expect(chosen(page)).to_have_text(["First", "مرحبا بالعالم"])
    expect(page.get_by_role("heading", level=2)).to_have_text(
        [
            "Scores",
            "Every episode",
            "Performance profiles",
            "Probability of improvement",
            "Episodes in step",
            "Across all tasks",
        ]
    )


@pytest.mark.attack(
    "name_of_another_agent_in_a_comparison", family="people", outcome="each row names its owner",
    tries="Gives one's agent the leader's name and spreads the address of a comparison of the two.",
)  # fmt: skip
def test_entries_are_told_apart_by_their_owners(visit):
    rows = section(visit(TWO), "Scores").locator("tbody th")

    expect(rows.locator(".pr-by")).to_have_text(["by alice", "by bob"])


def test_its_numbers_are_the_documents(visit, site):
    page = visit(TWO)
    row = next(one for one in agent(site, "alice/first")["tasks"] if one["task"] == "CartPole-v1")
    first = section(page, "Scores").locator("tbody tr").first

    expect(first.locator(".pr-value b")).to_have_text(f"{row['estimate']['score']:.1f}")
    expect(first.locator(".pr-interval")).to_have_text(f"{row['estimate']['low']:.1f} to {row['estimate']['high']:.1f}")
    expect(section(page, "Every episode").locator("tbody tr").first.locator("td").first).to_have_text(
        f"{np.mean(row['returns']):.1f}"
    )


def test_the_matrix_says_who_is_better_and_how_sure_that_is(visit, site):
    page = visit(TWO)
    values = [
        next(t for t in agent(site, name)["tasks"] if t["task"] == "CartPole-v1")["returns"]
        for name in ("alice/first", "bob/second")
    ]
    a, b = map(np.array, values)
    p = (a[:, None] > b).mean() + (a[:, None] == b).mean() / 2
    cells = section(page, "Probability of improvement").locator("td.pr-against")

    expect(cells.nth(0).locator("b")).to_have_text(f"{p:.2f}")
    expect(cells.nth(0)).to_contain_text("the row is better")
    expect(cells.nth(1)).to_contain_text("the column is better")


def test_where_lower_is_better_the_shorter_one_is(visit):
    page = visit("compare/?task=Short-v0&agents=alice/first,bob/second")

    expect(section(page, "Probability of improvement").locator("td.pr-against b").first).to_have_text("1.00")
    expect(section(page, "Every episode").locator("svg.pr-chart")).to_have_attribute(
        "aria-label", re.compile("length of each episode")
    )
    expect(section(page, "Performance profiles")).to_contain_text("at most the value")


def test_entries_are_added_by_typing_and_the_address_follows(visit):
    page = visit("compare/?task=CartPole-v1&agents=alice/first")
    expect(page.locator("#pr-compare-said")).to_have_text("Add another entry to compare it with.")
    page.get_by_label("Add an entry").fill("bob/")
    page.keyboard.press("Enter")
    expect(chosen(page)).to_have_count(2)
    expect(page).to_have_url(re.compile(r"\?task=CartPole-v1&agents=alice/first,bob/second$"))
    page.go_back()
    expect(chosen(page)).to_have_text(["First"])
    page.go_forward()
    expect(chosen(page)).to_have_count(2)
    page.get_by_label("Leave out First").click()
    expect(chosen(page)).to_have_text(["مرحبا بالعالم"])


def requested(page) -> list[str]:
    return page.evaluate("performance.getEntriesByType('resource').map(one => one.name)")


def test_an_address_with_somebody_unknown_says_so_and_asks_for_nothing_of_theirs(visit):
    page = visit("compare/?task=CartPole-v1&agents=nobody/here,alice/first")

    expect(page.locator("#pr-compare-said")).to_have_text("Nobody is called nobody/here here.")
    expect(section(page, "Scores").locator("tbody tr")).to_have_count(1)
    expect(page.locator(".pr-chosen a")).to_have_text(["First"])
    assert [url for url in requested(page) if "/api/agents/" in url and "alice/first" not in url] == []


@pytest.mark.parametrize("task", ["", "task=CartPole-v1&", "task=connect_four&", "task=none&"])
@pytest.mark.parametrize(
    "agents", ["nobody/here", "../..,%2e%2e/x", "<img%20src=x>/a,<b>/x", "__proto__/constructor", "%,/,a/b/c"]
)
def test_hostile_names_in_the_address_do_nothing(visit, task, agents):
    page = visit(f"compare/?{task}agents={agents}")
    page.wait_for_load_state("networkidle")

    expect(page.locator("#pr-compare-form")).to_be_visible()
    assert page.locator(".pr-chosen a").count() == 0
    assert [url for url in requested(page) if "/api/agents/" in url] == []


def test_what_fits_nobody_is_said(visit):
    page = visit("compare/?task=CartPole-v1&agents=alice/first")
    # What the page says of the entry in its address comes after the entry is loaded.
    expect(page.locator("#pr-compare-said")).to_have_text("Add another entry to compare it with.")
    page.get_by_label("Add an entry").fill("zzz")
    page.keyboard.press("Enter")

    expect(page.locator("#pr-compare-said")).to_have_text("Nobody else on this task fits “zzz”.")


def test_an_address_without_a_task_takes_one_that_the_entry_is_ranked_on(visit):
    page = visit("compare/?agents=bob/second")

    expect(page.get_by_label("Task", exact=True)).to_have_value("CartPole-v1")
    expect(chosen(page)).to_have_text(["مرحبا بالعالم"])


def test_episodes_of_one_kind_are_played_in_step(visit):
    page = visit(TWO)
    stage = section(page, "Episodes in step")
    expect(stage.locator("figure")).to_have_count(1)
    expect(stage).to_contain_text("No pictures of this episode: مرحبا بالعالم.")
    stage.get_by_label("Episode", exact=True).select_option("best")
    expect(stage.locator("figure")).to_have_count(2)
    before = stage.locator("img").evaluate_all("all => all.map(one => one.style.transform)")
    stage.get_by_role("slider").press("End")
    after = stage.locator("img").evaluate_all("all => all.map(one => one.style.transform)")

    assert all(one != other for one, other in zip(before, after, strict=True))


def test_hostile_and_long_names_stay_text(visit):
    page = visit(
        f"compare/?task=CartPole-v1&agents=carol/third,{LONG.login}/{LONG.agent}", viewport={"width": 360, "height": 800}
    )

    expect(chosen(page)).to_have_text([HOSTILE, "W" * 60])
    expect(section(page, "Scores")).to_be_visible()
    assert page.locator("img[src=x]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_players_of_a_game_are_compared_by_rating_and_duels(visit, scheme):
    page = visit("compare/?task=connect_four&agents=alice/minimax,bob/mcts", color_scheme=scheme)

    expect(section(page, "Ratings").locator("tbody tr")).to_have_count(2)
    expect(section(page, "Duels").locator("td.pr-against").first).to_contain_text(re.compile(r"\d+ of 40"))


def test_whoever_failed_is_said_to_have(visit):
    page = visit("compare/?task=CartPole-v1&agents=alice/first,dora/failed")

    expect(section(page, "Scores").locator("tbody tr").nth(1)).to_contain_text("crashed")


def test_without_javascript_it_says_where_else_to_look(visit):
    page = visit("compare/", java_script_enabled=False)

    expect(page.get_by_text("This page needs JavaScript")).to_be_visible()
    expect(page.get_by_role("link", name="the tasks’ own pages")).to_have_attribute("href", "../tasks/")


def test_it_opens_with_two_that_differ_and_an_axis_within_the_bounds(visit):
    page = visit("compare/?task=CartPole-v1")
    cells = section(page, "Scores").locator(".pr-value b")
    expect(cells).to_have_count(2)
    scores = cells.all_inner_texts()

    assert len(scores) == len(set(scores)) == 2
    ticks = section(page, "Every episode").locator("svg .pr-tick").all_text_contents()
    assert ticks
    assert max(float(tick) for tick in ticks) <= 500


def test_bars_have_an_axis_of_the_compared_entries(visit):
    page = visit("compare/?task=CartPole-v1&agents=alice/first,bob/second")

    bars = section(page, "Scores").locator(".pr-bar .pr-span")
    expect(bars).to_have_count(2)
    sides = bars.evaluate_all(
        "all => all.flatMap(one => [one.x.baseVal.value, one.x.baseVal.value + one.width.baseVal.value])"
    )
    assert max(sides) - min(sides) > 80
    expect(section(page, "Scores").locator("th .pr-ends")).to_have_attribute("data-low", re.compile(r"\d"))
