"""Whatever participants write, wherever they may: nothing of it runs or becomes anything but text, anywhere on the site."""

import csv
import html.parser
import io
import json
import re
from collections import Counter
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest
import yaml
from playwright.sync_api import expect

from tests.browser.built import Tab, on_disk
from tests.browser.disk import EVIL, OWN, one_line

# Agents that are watched in a browser: those whose words would run. Of the others' pages the files are looked at.
WATCHED = range(len(OWN))
IMAGE = "%3Cimg%20src=x%20onerror=window.pwned=1%3E"
SCRIPT = "%22%3E%3Cscript%3Ewindow.pwned=1%3C/script%3E"
PAGES = {
    "home": "", "tasks": "tasks/", "overall": "overall/", "ledger": "ledger/", "submit": "submit/",
    "task": "tasks/CartPole-v1/?failed=1&sort=name",
    "task-columns": "tasks/CartPole-v1/?pick=user-0/agent,user-1/agent",
    "failures": "tasks/FrozenLake-v1/?failed=1", "script": "tasks/CartPole-v1-from-scratch/?sort=-score",
    "game": "tasks/connect_four/?sort=-name",
    "duel": "tasks/connect_four/duels/user-0+player--user-1+player/",
    "refused": "tasks/connect_four/duels/cheat+crooked--cheat+crooked/",
    "compare": "compare/?task=CartPole-v1&agents=user-0/agent,user-1/agent,user-2/agent,user-6/agent",
    "status": "status/?find=user-1", "departed": "agents/frank/gone/",
    "address-compare": f"compare/?task={IMAGE}&agents={SCRIPT}",
    "address-status": f"status/?find={IMAGE}",
    "address-table": f"tasks/CartPole-v1/?agent={IMAGE}&sort={SCRIPT}&pick={SCRIPT}&columns={IMAGE}",
    "address-match": f"tasks/connect_four/duels/user-0+player--user-1+player/#match={IMAGE}",
    **{f"agent-{index}": f"agents/user-{index}/agent/" for index in WATCHED},
    **{f"script-{index}": f"agents/user-{index}/script/" for index in WATCHED[::3]},
}  # fmt: skip
COUNT = "() => document.querySelectorAll('*').length"
# Elements and attributes among the results of the search that it does not make itself, and links that leave the site.
LISTED = """() => [...document.querySelectorAll(".md-search-result__list *")].filter((one) =>
  !["li", "a", "article", "b", "bdi", "span", "p"].includes(one.localName)
  || one.getAttributeNames().some((name) => !["class", "href"].includes(name))
  || (one.localName === "a" && !one.href.startsWith(new URL(".", location.href).href))).map((one) => one.outerHTML)"""
# Every element with the names of its attributes, and what it would run, load or lead to.
MADE = """() => [...document.querySelectorAll("*")].map((one) => [
  one.tagName.toLowerCase(), one.getAttributeNames().sort().join(" ")])"""
ODD = """() => [...document.querySelectorAll("*")].flatMap((one) => one.getAttributeNames().filter((name) => {
  const value = one.getAttribute(name).trim().toLowerCase();
  return name.startsWith("on") || name === "srcdoc"
    || (["href", "src", "action", "formaction", "data", "xlink:href"].includes(name)
    && /^[a-z][a-z0-9+.-]*:/.test(value) && !/^(https?:|blob:|data:image\\/|data:application\\/json)/.test(value));
}).map((name) => `${one.tagName} ${name}=${one.getAttribute(name)}`))"""


@pytest.fixture(scope="module")
def tab(chromium):
    context = chromium.new_context(viewport={"width": 1200, "height": 1000})
    yield Tab(context.new_page())
    context.close()


@pytest.mark.attack(
    "script_in_a_browser", family="pages", outcome="nothing runs",
    tries="Writes scripts and elements into every field and lets a browser open every page.",
)  # fmt: skip
@pytest.mark.parametrize("kind", PAGES)
def test_nothing_runs_and_nothing_appears(kind, tab, hostile_site, tame_site):
    page = tab.visit(hostile_site.address + PAGES[kind])
    # An address may name an agent that is not there.
    messages = [line for line in tab.messages if not (kind.startswith("address-") and "404 (Not Found)" in line)]

    assert messages == []
    assert page.evaluate("() => window.pwned === undefined")
    assert page.evaluate(ODD) == []
    assert tab.elsewhere(hostile_site.address) == []
    assert [url for url in tab.asked if urlsplit(url).path.endswith(("/x", "/x.png"))] == []
    if not kind.startswith(("agent-", "script-", "address-")):
        made = Counter(map(tuple, page.evaluate(MADE)))
        assert made == Counter(map(tuple, tab.visit(tame_site.address + PAGES[kind]).evaluate(MADE)))


def elements(page) -> list:
    """All tags in order with the names of their attributes; what is in charts hangs on numbers alone."""
    return [(tag, sorted(given)) for tag, given in page.tags]


def test_every_file_has_the_elements_of_its_harmless_twin(hostile_site, tame_site):
    assert hostile_site.pages.keys() == tame_site.pages.keys()
    assert len([path for path in hostile_site.pages if path.startswith("agents/user-")]) > 2 * len(EVIL)
    assert [path for path, page in hostile_site.pages.items() if elements(page) != elements(tame_site.pages[path])] == []


def test_links_have_plain_addresses_and_say_whose_they_are(hostile_site):
    for path, page in hostile_site.pages.items():
        for tag, given in page.tags:
            assert not [name for name in given if name.startswith("on") or name == "srcdoc"], path
            for name in ("href", "src", "action"):
                scheme = urlsplit(given.get(name, "").strip()).scheme
                assert scheme in ("", "http", "https") or given[name].startswith("data:image/"), (path, tag, given)
            if tag == "a" and "javascript*" in given.get("href", ""):
                assert {"nofollow", "ugc", "noopener"} <= set(given["rel"].split()), path


def test_what_was_written_is_there_to_read(hostile_site):
    """Whole, for who can not read it ran nowhere; as one line, since pages have no place for more in a name."""
    for index, evil in enumerate(EVIL):
        words = " ".join(hostile_site.pages[f"agents/user-{index}/agent/index.html"].words.split())
        name = one_line(evil, 60)

        assert name in words, evil
        for line in one_line(evil, 300).split("  "):
            assert line in words, evil


def test_documents_hold_it_as_data(hostile_site):
    for index, evil in enumerate(EVIL):
        agent = json.loads(hostile_site.text(f"api/agents/user-{index}/agent.json"))
        manifest = hostile_site.board.root / "submissions" / f"user-{index}" / "agent" / "submission.yml"
        fields = yaml.safe_load(manifest.read_text("utf-8"))

        assert agent["name"] == fields["name"] == one_line(evil, 60)
    for path in hostile_site.folder.rglob("*.json"):
        content = path.read_text("utf-8")
        json.loads(content, parse_constant=pytest.fail)


def test_no_cell_of_a_table_is_a_formula(hostile_site):
    paths = list(hostile_site.folder.glob("api/**/*.csv"))

    assert paths
    for path in paths:
        for cells in csv.reader(io.StringIO(path.read_text("utf-8"), newline="")):
            for cell in cells:
                assert not re.match(r"[=+@\t\r]|-(?!\d+(\.\d+)?(e[+-]?\d+)?$)", cell), (path, cell)


def test_feeds_and_pictures_are_well_formed_and_hold_nothing_that_runs(hostile_site):
    paths = [path for kind in ("*.atom", "*.svg", "*.xml") for path in hostile_site.folder.rglob(kind)]

    assert {path.suffix for path in paths} == {".atom", ".svg", ".xml"}
    for path in paths:
        root = ET.parse(path).getroot()
        for one in root.iter():
            tag = one.tag.rpartition("}")[2].lower()
            assert tag not in ("script", "foreignobject", "iframe", "img", "handler", "animate", "set"), path
            for name, value in one.attrib.items():
                assert not name.lower().startswith("on"), path
                assert urlsplit(value.strip()).scheme != "javascript" or not name.endswith(("href", "src")), path


def test_markup_in_feeds_is_text_once_it_is_read(hostile_site):
    """Readers show titles as text and content as HTML: neither may hold an element of a participant's."""

    class Tags(html.parser.HTMLParser):
        def handle_starttag(self, tag, attributes):
            seen.append((tag, [name for name, _ in attributes if name.startswith("on")]))

    seen: list = []
    for path in hostile_site.folder.rglob("*.atom"):
        for one in ET.parse(path).getroot().iter():
            if one.attrib.get("type") == "html":
                Tags().feed(one.text or "")
    for path in hostile_site.folder.glob("feeds/*.json"):
        for item in json.loads(path.read_text("utf-8"))["items"]:
            Tags().feed(item.get("content_html", ""))

    assert {tag for tag, _ in seen} <= {"p", "a", "b", "em", "strong", "br", "ul", "li"}
    assert not [names for _, names in seen if names]


@pytest.mark.attack(
    "markup_in_the_search", family="pages", outcome="shown as text",
    tries="Writes markup that the site's search would show as elements.",
)  # fmt: skip
def test_the_search_finds_words_and_no_elements(tab, hostile_site):
    """The index holds what was written as it was written: that it stays text is for the page to see to."""
    page = tab.visit(hostile_site.address)
    matches, before = page.locator(".md-search-result__list > li"), page.evaluate(COUNT)
    for index, evil in enumerate(EVIL):
        page.get_by_role("textbox", name="Search").fill(f"user-{index}/agent")
        name, alone = one_line(evil, 60), re.compile(rf"Agent by user-{index}, ")
        expect(matches.filter(has_text=alone).first).to_be_visible()

        assert " ".join(matches.filter(has_text=alone).locator("bdi").first.text_content().split()) == name
        assert page.evaluate(LISTED) == [], evil
    page.get_by_role("textbox", name="Search").fill("onerror")
    expect(matches.nth(3)).to_be_visible()

    assert page.evaluate(LISTED) == []
    assert page.evaluate("() => window.pwned === undefined")
    assert page.evaluate(ODD) == []
    assert tab.messages == []
    assert tab.elsewhere(hostile_site.address) == []
    # Nothing else reads the index: the theme's own search would show it as markup.
    assert [url for url in tab.asked if "worker" in url] == []
    page.get_by_role("textbox", name="Search").fill("")
    expect(matches).to_have_count(0)
    assert page.evaluate(COUNT) == before


def test_the_index_leads_to_pages_of_the_site_alone(hostile_site):
    entries = json.loads(hostile_site.text("search/search_index.json"))["docs"]
    pages = {on_disk(entry["location"]) for entry in entries}

    assert {tuple(entry) for entry in entries} == {("location", "title", "text")}
    assert pages - hostile_site.pages.keys() == set()
