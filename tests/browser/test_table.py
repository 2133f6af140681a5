"""The table of a board as a reader uses it, in a real browser."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser import table_boards, table_page
from tests.browser.table_page import HILL, head, labels, names, offered, opened, rows, settled, status, table


@pytest.fixture(scope="module")
def whole():
    return table_boards.board()


@pytest.fixture(scope="module")
def site(tmp_path_factory, whole):
    with table_page.served(whole, tmp_path_factory.mktemp("table")) as address:
        yield address


def lengths(page) -> list[float]:
    texts = table(page).locator("tbody tr").evaluate_all("all => all.map(one => one.querySelector('.pr-right').textContent)")
    return [float(text) for text in texts]


def requested(page) -> list[str]:
    return page.evaluate("performance.getEntriesByType('resource').map(one => one.name)")


def saved(page, label) -> str:
    with page.expect_download() as download:
        page.get_by_role("button", name=label).click()
    return Path(download.value.path()).read_text()


def test_the_page_holds_the_first_hundred_and_fetches_nothing_before_it_is_asked(visit):
    page = visit(HILL)
    asked = requested(page)

    expect(rows(page)).to_have_count(100)
    assert not [url for url in asked if "/api/" in url]
    expect(page.locator(".pr-all")).to_contain_text("The first 100 of 230.")


def test_rows_look_the_same_when_the_script_makes_them(visit):
    page = visit(HILL)
    expect(page.locator(".pr-controls")).to_be_visible()
    before = rows(page).all_inner_texts()
    bars = labels(page)
    head(page, "Place").click()
    head(page, "Place").click()
    expect(status(page)).to_contain_text("230 entries, 1 to 100 here.")
    settled(page)

    assert [" ".join(text.split()) for text in rows(page).all_inner_texts()] == [" ".join(text.split()) for text in before]
    assert labels(page) == bars


def test_a_click_sorts_and_another_turns_it_round(visit):
    page = visit(HILL)
    offered(page, "Length")
    head(page, "Length").click()
    expect(page).to_have_url(re.compile(r"\?sort=metric:1&columns="))
    expect(head(page, "Length").locator("xpath=..")).to_have_attribute("aria-sort", "ascending")
    expect(rows(page).first).to_contain_text("5.00")
    head(page, "Length").click()
    expect(rows(page).first).to_contain_text("234.00")
    expect(head(page, "Length")).to_be_focused()
    page.go_back()
    expect(rows(page).first).to_contain_text("5.00")
    page.go_back()
    expect(head(page, "Place").locator("xpath=..")).to_have_attribute("aria-sort", "ascending")
    page.go_forward()
    expect(rows(page).first).to_contain_text("5.00")


# What stands in the table when a click has been dealt with, before any frame; `then` may click again within that frame.
CLICKED = """async ([label, again]) => {
  const button = () => [...document.querySelectorAll('.pr-table .pr-sort')].find(one => one.firstChild.data === label);
  button().click();
  if (again) requestAnimationFrame(() => button().click());
  for (let turn = 0; turn < 20; turn += 1) await null;
  const table = document.querySelector('.pr-table table');
  const rows = [...table.tBodies[0].rows];
  return {busy: table.ariaBusy, lengths: rows.map(row => Number(row.querySelector('.pr-right').textContent)),
    bottom: rows.at(-1).getBoundingClientRect().bottom};
}"""


def test_rows_in_the_window_come_at_once_and_the_rest_after_them(visit):
    page = visit(HILL + "?sort=-metric:1")
    settled(page)
    state = page.evaluate(CLICKED, ["Length", False])
    all_of_them = [float(5 + index) for index in range(100)]

    assert state["busy"] == "true"
    assert state["lengths"] == all_of_them[: len(state["lengths"])]
    assert state["bottom"] >= page.viewport_size["height"]
    expect(rows(page)).to_have_count(100)
    settled(page)
    assert lengths(page) == all_of_them


def test_a_second_click_before_the_rest_is_there_wins(visit):
    page = visit(HILL + "?sort=-metric:1")
    settled(page)
    state = page.evaluate(CLICKED, ["Length", True])
    expect(page).to_have_url(re.compile(r"\?sort=-metric:1$"))
    expect(rows(page)).to_have_count(100)
    settled(page)
    page.wait_for_timeout(100)

    assert state["lengths"][0] == 5
    assert lengths(page) == [float(234 - index) for index in range(100)]


@pytest.mark.parametrize("width", [360, 1200, 1920])
def test_no_row_is_lower_than_the_script_takes_it_to_be(visit, width):
    page = visit(HILL + "?sort=-score&columns=place,evaluated_at", viewport={"width": width, "height": 900})
    settled(page)

    assert min(rows(page).evaluate_all("all => all.map(one => one.offsetHeight)")) >= 36


def test_picking_far_below_moves_nothing(visit):
    page = visit(HILL + "?sort=-score")
    settled(page)
    page.evaluate("scrollTo({ top: document.querySelector('.pr-table tbody').rows[90].offsetTop, behavior: 'instant' })")
    before = page.evaluate("scrollY")
    page.evaluate("""() => {
      const box = document.querySelectorAll('.pr-table tbody .pr-pick input')[90];
      box.focus({ preventScroll: true });
      box.click();
    }""")
    settled(page)
    expect(page.locator(".pr-picks .pr-chips li")).to_have_count(1)

    assert page.evaluate("scrollY") == before > 1000
    expect(rows(page).nth(90).get_by_role("checkbox")).to_be_focused()


def test_medals_are_for_the_first_three_though_scores_are_negative(visit):
    page = visit(HILL + "?sort=-score")

    expect(rows(page).nth(0).locator(".pr-medal-1")).to_be_visible()
    expect(table(page).locator(".pr-medal")).to_have_count(3)
    expect(rows(page).first).to_contain_text("−")
    expect(table(page).locator("th .pr-way").first).to_have_text("↑ higher is better")


def test_typing_filters_and_one_word_is_one_step_back(visit):
    page = visit(HILL)
    page.get_by_role("searchbox", name="Find").press_sequentially("agent 02")
    expect(rows(page)).to_have_count(10)
    expect(status(page)).to_have_text("10 of 230 entries.")
    expect(page).to_have_url(re.compile(r"\?find=agent\+02$"))
    page.go_back()
    expect(rows(page)).to_have_count(100)
    expect(page.get_by_role("searchbox", name="Find")).to_have_value("")


def test_an_address_shows_the_same_to_others(visit):
    page = visit(
        HILL + "?sort=-attempts&author=user-1&algorithm=dqn&min=-200&max=-100&from=2026-01-02&to=2026-12-31&kind=policy"
    )
    first = names(page)
    expect(status(page)).to_contain_text("of 230 entries")
    opened(page, "Filters (7)")
    expect(page.get_by_label("Author", exact=True).first).to_have_value("user-1")
    expect(page.get_by_role("spinbutton", name="Score from")).to_have_value("-200")
    expect(page.get_by_label("Date to")).to_have_value("2026-12-31")
    page.get_by_role("button", name="Clear filters").click()
    expect(page).to_have_url(re.compile(r"\?sort=-attempts$"))
    expect(rows(page)).to_have_count(100)
    assert 0 < len(first) < 100


def test_only_those_that_a_host_vouches_for(visit):
    page = visit(HILL + "?verified=1")

    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("verified by the host")


def test_what_failed_is_behind_a_switch_with_the_reasons(visit):
    page = visit(HILL + "?sort=-score&page=3")
    expect(table(page)).not_to_contain_text("crashed")
    page.get_by_label("Failed and withdrawn (5)").check()
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Next").click()

    for word in ("crashed", "waiting", "excluded", "withdrawn", table_boards.HOSTILE):
        expect(table(page)).to_contain_text(word)
    assert page.url.endswith("?sort=-score&failed=1&page=3")
    assert "Copy" not in names(page)[0]


def test_columns_are_chosen(visit):
    page = visit(HILL)
    opened(page, "Columns")
    chooser = page.locator(".pr-controls .pr-fields").nth(1)
    chooser.get_by_label("Algorithm").uncheck()
    chooser.get_by_label("Memory").check()
    expect(table(page).locator("thead")).not_to_contain_text("Algorithm")
    expect(rows(page).first).to_contain_text("50.0 MiB")
    page.reload()
    expect(rows(page).first).to_contain_text("50.0 MiB")
    assert "columns=place,agent,score" in page.url


def test_files_hold_exactly_what_is_shown(visit):
    page = visit(HILL + "?sort=-score&agent=agent-1&columns=place,agent,score,interval,algorithm")
    expect(status(page)).to_contain_text("of 230 entries")
    shown = names(page)
    read = list(csv.DictReader(io.StringIO(saved(page, "Save as CSV"))))
    records = json.loads(saved(page, "Save as JSON"))

    assert list(records[0]) == [
        "place", "rank_low", "rank_high", "login", "agent", "name", "flags", "score", "low", "high", "algorithm",
    ]  # fmt: skip
    assert len(read) == len(records) > 100
    assert [one["name"] for one in records[: len(shown)]] == shown
    assert [float(one["score"]) for one in read] == [one["score"] for one in records]


def test_a_cell_of_a_file_is_no_formula(visit):
    page = visit(HILL + "?find=%3D1")

    assert ",'=1+1," in saved(page, "Save as CSV")


def test_two_that_are_picked_are_compared(visit):
    page = visit(HILL)
    rows(page).nth(0).get_by_role("checkbox").check()
    panel = page.get_by_role("region", name="Picked entries")
    expect(panel.locator("figure")).to_have_count(1)
    rows(page).nth(1).get_by_role("checkbox").check()
    expect(panel.locator("figure")).to_have_count(2)
    expect(panel.locator(".pr-improvement")).to_have_text(
        re.compile(r"with probability \d+ % \(95 % interval \d+ % to \d+ %")
    )
    assert page.url.endswith("?pick=user-1/agent-1,user-0/agent-0")
    link = panel.get_by_role("link").get_attribute("href")
    assert link.endswith("/compare/?task=ALE/Hill-v0&agents=user-1/agent-1,user-0/agent-0")
    panel.get_by_role("button", name=re.compile("Take .* out")).first.click()
    expect(panel.locator(".pr-chips li")).to_have_count(1)
    expect(rows(page).nth(0).get_by_role("checkbox")).not_to_be_checked()


def test_keys_alone_are_enough(visit):
    page = visit(HILL)
    page.get_by_role("searchbox", name="Find").focus()
    page.keyboard.type("agent 1")
    expect(rows(page)).to_have_count(100)
    head(page, "Agent").focus()
    page.keyboard.press("Enter")
    expect(head(page, "Agent").locator("xpath=..")).to_have_attribute("aria-sort", "ascending")
    page.keyboard.press("Enter")
    expect(head(page, "Agent").locator("xpath=..")).to_have_attribute("aria-sort", "descending")
    expect(rows(page).first).to_contain_text("Agent 199")


def test_hostile_text_stays_text(visit):
    page = visit(HILL + "?failed=1&find=onerror&pick=user-3/agent-3,user-0/agent-0")
    expect(table(page)).to_contain_text(table_boards.HOSTILE)

    assert page.locator("img[src=x]").count() == 0


@pytest.mark.parametrize(
    "query",
    [
        "?sort=nonsense&page=99",
        "?columns=nothing",
        "?min=x&from=never",
        "?pick=nobody/nothing,zoe/broken-0,../..,__proto__/constructor,%3Cimg%20src=x%3E/x,alone",
        "?%",
    ],
)
def test_an_address_of_nothing_does_no_harm(visit, query):
    page = visit(HILL + query)

    expect(table(page)).to_be_visible()
    expect(page.locator(".pr-found")).not_to_contain_text("Loading")
    settled(page)


def test_of_picked_ones_without_a_score_nothing_is_asked_for(visit):
    page = visit(HILL + "?pick=nobody/nothing,zoe/broken-0")

    expect(page.locator(".pr-picks")).to_contain_text("No returns to show for nobody/nothing, Broken 0.")
    assert not [url for url in requested(page) if "/api/agents/" in url]


def test_a_table_that_can_not_be_fetched_leaves_the_page_as_it_came(visit):
    page = visit(HILL)
    page.route("**/table.json", lambda route: route.fulfill(status=200, body="broken"))
    head(page, "Agent").click()
    expect(status(page)).to_contain_text("could not be loaded")
    expect(rows(page)).to_have_count(100)


def test_without_a_script_everything_can_be_read(visit):
    page = visit(HILL, java_script_enabled=False)

    expect(rows(page)).to_have_count(100)
    page.locator("summary").filter(has_text="Not ranked").click()
    expect(page.get_by_text("Broken 0")).to_be_visible()
    assert page.locator(".pr-all a").first.get_attribute("href").endswith("leaderboard.csv")


def test_a_phone_needs_no_scrolling_sideways(visit):
    page = visit(HILL + "?failed=1&pick=user-1/agent-1,user-0/agent-0", viewport={"width": 360, "height": 740})
    expect(page.locator(".pr-picks figure")).to_have_count(2)

    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_board_without_entries_needs_no_table(visit):
    page = visit("tasks/Nobody-v0/")

    expect(page.get_by_text("No agent has a score on this task yet.")).to_be_visible()
    expect(page.locator(".pr-controls")).to_have_count(0)


def test_filters_open_below_the_other_controls(visit):
    page = visit(HILL)
    controls = page.locator(".pr-controls > label, .pr-controls > button, .pr-controls > .pr-files")
    before = controls.evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    opened(page, "Filters")

    expect(page.get_by_role("spinbutton", name="Score from")).to_be_visible()
    assert controls.evaluate_all("all => all.map(one => one.getBoundingClientRect().top)") == before
