"""What holds on every kind of page: nothing from elsewhere, nothing on the console, no wider than a phone, no need of a
script, and a way through with the keyboard alone."""

import pytest
from playwright.sync_api import expect

from tests.browser.built import EMPTY, KINDS, Tab, on_disk

BROAD, NARROW = {"width": 1200, "height": 1000}, {"width": 360, "height": 740}
# What sticks out of the window, unless it lies in a box that scrolls or is cut off.
WIDE = """() => {
  const wide = document.documentElement.clientWidth;
  const held = (one) => one && one !== document.body
    && (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(one).overflowX) || held(one.parentElement));
  const out = [...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > wide + 1
    && one.getBoundingClientRect().width > 0 && !held(one.parentElement)).map((one) => one.outerHTML.slice(0, 120));
  return [document.documentElement.scrollWidth > wide, out.slice(0, 3)];
}"""
# What a page of each kind says without any script.
SAID = {
    "home": ["Proof board", "First", "a laptop", "MountainCar-v0"],
    "tasks": ["CartPole", "Connect Four", "Shortest way"],
    "overall": ["First", "0."],
    "timeline": ["Season 2026", "First", "takes the lead in", "CartPole", "Who began to lead when"],
    "agents": ["First", "مرحبا بالعالم", "PPO", "by carol", "1 CartPole, 1 MountainCar-v0, "],
    "task": ["First", "مرحبا بالعالم", "500.0", "copycat", "frank"],
    "task-state": ["−105", "First", "Length"],
    "task-failed": ["dora", "out_of_memory"],
    "task-empty": ["No agent has a score on this task yet"],
    "task-hidden": ["2099-01-01"],
    "script": ["Learner 0", "Claims", "500"],
    "game": ["First", "Head to head", "crooked"],
    "agent": ["First", "Two paragraphs.", "The team", "CartPole", "MIT", "pullrank verify"],
    "agent-long": ["W" * 60, "m" * 60],
    "agent-script": ["Learner 0", "asked for an environment"],
    "agent-failed": ["It was crashed.", "two  spaced"],
    "departed": ["frank", "332"],
    "excluded": ["copies weights", "mallory"],
    "duel": ["angle-rule", "greeting", "8 matches", "The replay needs JavaScript"],
    "compare": ["JavaScript", "CartPole"],
    "compare-state": ["JavaScript", "CartPole"],
    "submit": ["submission.yml", "agent.py", "JavaScript"],
    "states": ["score"],
    "status": ["JavaScript"],
    "ledger": ["copies weights", "frank", "mallory"],
    "machines": ["api/", "read_csv", "Grafana"],
    "rules": ["Rules"],
    "ranks": ["interval", "Davidson"],
    "integrity": ["seed", "beacon"],
    "threats": ["container"],
    "host": ["Setting"],
    "404": ["404", "ledger"],
}


@pytest.fixture(scope="module")
def tab(chromium):
    context = chromium.new_context(viewport=BROAD)
    yield Tab(context.new_page())
    context.close()


def looked_at(tab, site, address):
    tab.page.set_viewport_size(NARROW)
    try:
        page = tab.visit(site.address + address)
        wide = page.evaluate(WIDE)
    finally:
        tab.page.set_viewport_size(BROAD)

    assert tab.elsewhere(site.address) == []
    assert tab.messages == []
    assert wide == [False, []]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_from_elsewhere_nothing_said_and_no_wider_than_a_phone(kind, tab, full_site):
    looked_at(tab, full_site, KINDS[kind])


@pytest.mark.parametrize("kind", EMPTY)
def test_the_same_of_a_board_without_anybody(kind, tab, empty_site):
    looked_at(tab, empty_site, EMPTY[kind])


# What a finger has to hit, by pixels: links in running text are not among it.
SMALL = """() => [...document.querySelectorAll("main :is(button, select, input[type=range], input[type=search])")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest(".pr-hidden, .md-code__nav"))
  .map((one) => [one.getBoundingClientRect(), one.outerHTML.slice(0, 120)])
  .filter(([box]) => box.height > 0 && Math.min(box.height, box.width) < 36)
  .map(([box, html]) => `${box.width}×${box.height} ${html}`)"""


@pytest.mark.parametrize("kind", ["home", "task", "game", "agent", "agents", "duel", "compare-state", "overall"])
def test_controls_are_large_enough_for_a_finger(kind, chromium, full_site):
    context = chromium.new_context(viewport=NARROW, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(full_site.address + KINDS[kind], wait_until="networkidle")
    small, wide = page.evaluate(SMALL), page.evaluate(WIDE)
    context.close()

    assert small == []
    assert wide == [False, []]


@pytest.mark.parametrize("address", ["nothing/here/", "tasks/none", "agents/alice/none/"])
def test_the_page_for_what_is_not_there_works_at_any_depth(address, tab, full_site):
    page = tab.visit(full_site.address + address)

    assert page.locator("main h1").inner_text().startswith("404")
    assert page.evaluate("() => getComputedStyle(document.querySelector('.md-header')).position") == "sticky"
    # Of the page itself the browser says that it is not there.
    assert [line for line in tab.messages if "404" not in line] == []
    assert tab.elsewhere(full_site.address) == []


@pytest.fixture(scope="module")
def scriptless(chromium):
    context = chromium.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("kind", KINDS)
def test_every_page_says_what_it_has_to_without_a_script(kind, scriptless, full_site):
    scriptless.goto(full_site.address + KINDS[kind])
    text = scriptless.locator("article" if scriptless.locator("article").count() else "main").first
    words = f"{text.inner_text()} {text.text_content()}"

    assert set(SAID) == set(KINDS)
    assert [word for word in SAID[kind] if word not in words] == []


def test_what_is_said_without_a_script_is_seen(scriptless, full_site):
    scriptless.goto(full_site.address + KINDS["task"])

    expect(scriptless.locator("table.pr-board").first.get_by_text("First", exact=True)).to_be_visible()
    expect(scriptless.locator("table.pr-board").first.get_by_text("500.0", exact=True).first).to_be_visible()


FOCUS = "() => { const one = document.activeElement; return [one.tagName, (one.innerText || one.ariaLabel || '').trim()]; }"


def pressed_to(page, wanted, most=90):
    """Tab until the focus lies on what `wanted` accepts; what was passed."""
    passed = []
    for _ in range(most):
        page.keyboard.press("Tab")
        passed.append(page.evaluate(FOCUS))
        if wanted(page):
            return passed
    raise AssertionError(passed)


def has_focus(selector):
    return lambda page: page.evaluate("one => document.activeElement.matches(one)", selector)


def test_the_first_tab_skips_to_the_text(tab, full_site):
    page = tab.visit(full_site.address + KINDS["task"])
    page.keyboard.press("Tab")

    expect(page.locator(".md-skip:focus")).to_be_visible()
    page.keyboard.press("Enter")
    assert page.url.count("#") == 1


def test_a_table_is_sorted_with_the_keyboard_alone(tab, full_site):
    page = tab.visit(full_site.address + KINDS["task"])
    heads = page.locator("table.pr-board thead button")
    expect(heads.first).to_be_attached()
    pressed_to(page, has_focus("table.pr-board thead button"))
    before = page.locator("table.pr-board").first.locator("tbody .pr-agent").all_inner_texts()
    for _ in range(12):
        if "score" in page.evaluate(FOCUS)[1].lower():
            break
        page.keyboard.press("Tab")
    shown = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.search.includes('sort=')")
    page.keyboard.press("Enter")
    page.wait_for_timeout(100)
    after = page.locator("table.pr-board").first.locator("tbody .pr-agent").all_inner_texts()

    assert shown != "none"
    assert sorted(after) == sorted(before)
    assert after != before or "sort=" in page.url
    assert page.locator("table.pr-board thead th[aria-sort]:not([aria-sort=none])").count() == 1


def test_a_match_is_stepped_through_with_arrow_keys(tab, full_site):
    page = tab.visit(full_site.address + KINDS["duel"])
    expect(page.locator("#replay")).to_be_visible()
    pressed_to(page, has_focus(".pr-controls button"))
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")

    assert page.locator(".pr-slider").input_value() == "1"


def test_an_episode_is_stepped_through_with_arrow_keys(tab, full_site):
    page = tab.visit(full_site.address + KINDS["agent"])
    figure = page.locator("figure.pr-episode").first
    expect(figure.locator("button").first).to_be_attached()
    pressed_to(page, has_focus("figure.pr-episode *"))
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")

    assert figure.locator("input[type=range]").input_value() == "1"


def test_every_page_has_one_title_of_its_own_and_one_heading(full_site):
    titles = {}
    for path, page in full_site.pages.items():
        heads = [tag for tag, _ in page.tags if tag == "h1"]
        words = full_site.text(path).split("<title>", 1)[1].split("</title>", 1)[0]
        titles.setdefault(words, []).append(path)

        assert len(heads) == 1, path

    assert {words: paths for words, paths in titles.items() if len(paths) > 1} == {}


def test_every_kind_of_page_is_there(full_site):
    assert [kind for kind, address in KINDS.items() if on_disk(address) not in full_site.pages] == []
