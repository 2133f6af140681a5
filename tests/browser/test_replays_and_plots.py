"""The replay above a task's standings, the plot of its intervals, and the heat map, in a real browser."""

import gzip
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

TASK = "tasks/CartPole-v1/"
# Compressed, as GitHub Pages sends them: what a task's page may weigh before its reader does anything. The index of the
# search, which the theme fetches once the page is there, is not counted.
TASK_PAGE_BYTES = 200_000


@pytest.fixture(scope="module")
def site(full_site):
    return full_site.address


def test_a_replay_is_loaded_when_it_is_played(chromium, site):
    page = chromium.new_context(viewport={"width": 1200, "height": 900}).new_page()
    answers = []
    page.on("response", lambda answer: answers.append(answer))
    page.goto(site + TASK, wait_until="networkidle")
    replay = page.locator(".pr-leader-replay")
    page_files = [answer for answer in answers if answer.ok and not answer.url.endswith("/search_index.json")]

    assert any(answer.url.endswith("-poster.webp") for answer in answers)
    assert not [answer.url for answer in answers if answer.url.endswith("-median.webp")]
    assert sum(len(gzip.compress(answer.body())) for answer in page_files) < TASK_PAGE_BYTES
    expect(replay.locator("figcaption")).to_contain_text("median episode, ")
    with page.expect_response(lambda answer: answer.url.endswith("-median.webp")):
        replay.get_by_role("button", name="Play").click()
    expect(replay.get_by_role("button", name="Pause")).to_be_visible()
    page.context.close()


def test_a_link_to_the_replay_plays_it(visit):
    page = visit(f"{TASK}#leader-replay")

    expect(page.locator(".pr-leader-replay").get_by_role("button", name="Pause")).to_be_visible()


def test_the_heat_map_is_sorted_by_a_task(visit):
    page = visit("overall/")
    table = page.locator("table.pr-heat")
    table.get_by_role("button", name="CartPole", exact=True).click()
    head = table.locator("th[aria-sort]")
    expect(head).to_have_attribute("aria-sort", "descending")
    column = head.evaluate("one => one.cellIndex")
    cells = table.locator(f"tbody tr > :nth-child({column + 1})").all_inner_texts()
    known = [float(cell.replace("\N{MINUS SIGN}", "-")) for cell in cells if cell != "\N{EN DASH}"]

    assert len(known) > 2
    assert known == sorted(known, reverse=True)
    assert cells[len(known) :] == ["\N{EN DASH}"] * (len(cells) - len(known))


def test_the_plot_is_saved_with_its_colours(visit):
    page = visit(TASK)
    files = {}
    for form in ("SVG", "PNG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save as {form}").click()
        files[form] = Path(download.value.path()).read_bytes()

    assert b"<circle" in files["SVG"]
    assert b'fill="rgb' in files["SVG"]
    assert b"var(" not in files["SVG"]
    assert files["PNG"].startswith(b"\x89PNG")


def test_the_replay_of_a_game_has_the_same_controls_and_loads_the_match_on_demand(visit):
    page = visit("tasks/connect_four/")
    replay = page.locator(".pr-leader-replay")
    last = int(page.locator(".pr-replayed-agents li").first.get_attribute("data-moves"))
    asked = page.evaluate("performance.getEntriesByType('resource').map(one => one.name)")

    assert not [url for url in asked if "/duels/" in url]
    expect(replay.locator(".pr-step")).to_have_text(f"{last} / {last}")
    replay.get_by_role("button", name="Step back").click()
    expect(replay.locator(".pr-step")).to_have_text(f"{last - 1} / {last}")
    expect(replay.locator("svg.pr-match")).to_have_attribute("aria-label", f"Position after {last - 1} of {last} moves")
    replay.get_by_role("slider").fill("2")
    expect(replay.locator("svg.pr-match .pr-disc:not([style*='none'])")).to_have_count(2)
    replay.get_by_label("Speed").select_option("4")
    before = replay.locator("figcaption").inner_text()
    replay.get_by_role("button", name="Next agent").click()
    expect(replay.locator("figcaption")).not_to_have_text(before)
    expect(replay.locator("svg.pr-match")).to_have_attribute("aria-label", re.compile("Position after (\\d+) of \\1 moves"))


def test_one_click_from_home_leads_to_a_playing_replay(visit):
    page = visit("")
    page.locator(".pr-card-picture").first.click()

    expect(page.locator(".pr-leader-replay").get_by_role("button", name="Pause")).to_be_visible()
