"""Pages for everybody: axe-core finds nothing on any kind of page, light, dark and narrow."""

import contextlib

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.browser.built import EMPTY, KINDS, Tab
from tests.browser.node import needed

FOUND = """options => axe.run(document, {resultTypes: ["violations"], ...options}).then(found => found.violations.flatMap(
  one => one.nodes.map(node => `${one.id}: ${node.target.join(" ")}: ${node.html.slice(0, 160)}: ${
    [...node.any, ...node.all, ...node.none].map(said => said.message).join("; ").slice(0, 200)}`)))"""
# In the dark colours are all that differs; the theme keeps its choice on the body, pages of duels ask the system.
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
DARKEN = "() => document.body.dataset.mdColorScheme && (document.body.dataset.mdColorScheme = 'slate')"
STILL = "*, ::before, ::after { transition: none !important; animation: none !important }"
# The theme lets code that has come to scroll be reached, a moment later.
REACHED = """() => [...document.querySelectorAll("pre > code, .md-typeset__scrollwrap")].every(
  (one) => one.scrollWidth <= one.clientWidth || one.tabIndex >= 0)"""
WIDE, NARROW = {"width": 1200, "height": 1000}, {"width": 360, "height": 800}


@pytest.fixture(scope="module")
def look(chromium):
    """Visits a page in one tab for all; says what is wrong with it in light, narrow, and dark."""
    axe = (needed("axe-core") / "axe.min.js").read_text("utf-8")
    context = chromium.new_context(viewport=WIDE, reduced_motion="reduce", bypass_csp=True)
    tab = Tab(context.new_page())

    def violations(address):
        tab.page.emulate_media(color_scheme="light")
        tab.page.set_viewport_size(WIDE)
        page = tab.visit(address)
        page.add_style_tag(content=STILL)
        page.evaluate(axe)
        violations_by_view = {"light": page.evaluate(FOUND, {})}
        page.emulate_media(color_scheme="dark")
        page.evaluate(DARKEN)
        violations_by_view["dark"] = page.evaluate(FOUND, COLOURS)
        page.set_viewport_size(NARROW)
        with contextlib.suppress(PlaywrightTimeout):
            page.wait_for_function(REACHED, timeout=2000)
        return {**violations_by_view, "narrow": page.evaluate(FOUND, {})}

    yield violations
    context.close()


NOTHING = {"light": [], "dark": [], "narrow": []}


@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing(kind, look, full_site):
    assert look(full_site.address + KINDS[kind]) == NOTHING


@pytest.mark.parametrize("kind", EMPTY)
def test_axe_finds_nothing_on_a_board_without_anybody(kind, look, empty_site):
    assert look(empty_site.address + EMPTY[kind]) == NOTHING
