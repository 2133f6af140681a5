"""Search, the page of all agents, and what is new since the last visit, in a real browser."""

import html.parser
import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.built import KINDS, on_disk

# Pages of the board itself, which templates make.
GENERATED = ("home", "tasks", "overall", "timeline", "agents", "task", "task-state", "script", "game", "compare", "ledger")


@pytest.fixture(scope="module")
def site(full_site):
    return full_site.address


def test_the_index_is_loaded_when_somebody_searches(visit):
    page = visit("tasks/CartPole-v1/")
    names = "performance.getEntriesByType('resource').map(one => one.name).filter(one => /search_index|workers/.test(one))"

    assert page.evaluate(names) == []
    page.get_by_role("textbox", name="Search").fill("greeting")
    result = page.locator(".md-search-result__item").first
    expect(result).to_contain_text("Agent by bob, bob/greeting")
    result.get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/agents/bob/greeting/$"))


class Words(html.parser.HTMLParser):
    """The words of a page, each within one piece of its text."""

    def __init__(self, text):
        super().__init__()
        self.found = set()
        self.feed(text)

    def handle_data(self, data):
        self.found |= words(data)


def words(text):
    return {word.strip(".,:;()·") for word in re.split(r"[\s–]+", text)}


@pytest.mark.parametrize("kind", GENERATED)
def test_excerpts_hold_words_as_the_page_has_them(kind, full_site):
    """Not `22.0reference` or `CartPoleCartPole-v1`: words of two cells, items or labels stay apart."""
    path = on_disk(KINDS[kind])
    found = Words(full_site.text(path)).found
    docs = json.loads(full_site.text("search/search_index.json"))["docs"]
    own = [doc for doc in docs if on_disk(doc["location"]) == path]

    assert own
    assert sorted({word for doc in own for word in words(doc["text"])} - found) == []


def test_excerpts_begin_with_what_the_page_is_about(full_site):
    docs = json.loads(full_site.text("search/search_index.json"))["docs"]

    assert not [doc["location"] for doc in docs if "Generated 20" in doc["text"]]


def test_what_was_typed_before_the_index_came_is_searched_for(chromium, site):
    page = chromium.new_context().new_page()
    held = []
    page.route("**/search_index.json", lambda route: held.append(route))
    page.goto(site)
    page.get_by_role("textbox", name="Search").fill("first v")
    expect(page.locator(".md-search-result__meta")).to_have_text("Loading …")
    held[0].continue_()
    expect(page.locator(".md-search-result__item").first).to_contain_text("Duel in Connect Four")
    page.context.close()


def test_a_page_with_just_that_title_comes_before_agents(chromium, site):
    addresses = {"agents/a/b/": "Connect Four player", "tasks/connect_four/": "Connect Four"}
    docs = [{"location": location, "title": title, "text": ""} for location, title in addresses.items()]
    page = chromium.new_context().new_page()
    page.route("**/search_index.json", lambda route: route.fulfill(json={"docs": docs}))
    page.goto(site)
    page.get_by_role("textbox", name="Search").fill("connect four")

    expect(page.locator(".md-search-result__item").first.locator("b")).to_have_text("Connect Four")
    page.context.close()


@pytest.mark.attack(
    "agent_named_like_a_page_in_the_search", family="pages", outcome="found behind the page",
    tries="Names an agent Rules or Submit an agent, to be what the site's search opens for these words.",
)  # fmt: skip
@pytest.mark.parametrize("asked", ["rules", "rul"])
def test_an_agent_named_like_a_page_comes_after_it(asked, chromium, site):
    docs = [{"location": location, "title": "Rules", "text": ""} for location in ("agents/mallory/a/", "rules/")]
    page = chromium.new_context().new_page()
    page.route("**/search_index.json", lambda route: route.fulfill(json={"docs": docs}))
    page.goto(site)
    page.get_by_role("textbox", name="Search").fill(asked)

    expect(page.locator(".md-search-result__item a").first).to_have_attribute("href", re.compile(r"/board/rules/$"))
    page.context.close()


def test_agents_are_found_and_filtered(visit):
    page = visit("all-agents/")
    rows = page.locator("#pr-agents tbody tr")
    page.get_by_role("searchbox", name="Find").fill("PPO")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("to the moon")
    page.get_by_role("searchbox", name="Find").fill("")
    page.get_by_label("State").select_option("failed")
    expect(page.locator("#pr-agents-said")).to_contain_text("7 of ")
    assert page.url.endswith("?state=failed")


def test_the_last_visit_is_kept_in_the_browser_alone(chromium, site):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(site)
    expect(page.locator(".pr-timeline")).to_be_visible()
    expect(page.locator(".pr-visit")).to_be_hidden()
    page.evaluate("""() => {
      const key = Object.keys(localStorage).find((name) => name.startsWith("pullrank-visit"));
      localStorage.setItem(key, JSON.stringify({ seen: Date.parse("2026-01-15T00:00:00Z"), before: null }));
    }""")
    page.reload()
    expect(page.locator(".pr-visit")).to_contain_text("Since your last visit on 2026-01-15: 1 new leader, ")
    expect(page.locator(".pr-timeline .pr-fresh")).to_have_count(1)
    errors = []
    page.on("pageerror", lambda error: errors.append(error))
    # Another site of the same host may write anything there.
    for seen in ("1e300", "-1e300", "[]", "null"):
        page.evaluate(
            """seen => {
          const key = Object.keys(localStorage).find((name) => name.startsWith("pullrank-visit"));
          localStorage.setItem(key, `{"seen": ${seen}, "before": ${seen}}`);
        }""",
            seen,
        )
        page.reload()
        expect(page.locator(".pr-timeline")).to_be_visible()
        expect(page.locator(".pr-visit")).to_be_hidden()
    assert errors == []
    context.close()
