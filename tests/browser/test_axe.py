"""Pages for everybody: axe-core finds nothing on any kind of page, light, dark and narrow."""

import pytest

from tests.browser.built import EMPTY, KINDS
from tests.browser.node import needed

FOUND = """options => axe.run(document, {resultTypes: ["violations"], ...options}).then(found => found.violations.flatMap(
  one => one.nodes.map(node => `${one.id}: ${node.target.join(" ")}: ${node.html.slice(0, 160)}: ${
    [...node.any, ...node.all, ...node.none].map(said => said.message).join("; ").slice(0, 200)}`)))"""
# In the dark colours are all that differs; the theme keeps its choice on the body, pages of duels ask the system.
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
DARKEN = "() => document.body.dataset.mdColorScheme && (document.body.dataset.mdColorScheme = 'slate')"
STILL = "*, ::before, ::after { transition: none !important; animation: none !important }"
WIDE, NARROW = {"width": 1200, "height": 1000}, {"width": 360, "height": 800}


@pytest.fixture(scope="module")
def look(chromium):
    """Visits a page in one tab for all; says what is wrong with it in light, narrow, and dark."""
    axe = (needed("axe-core") / "axe.min.js").read_text("utf-8")
    context = chromium.new_context(viewport=WIDE, reduced_motion="reduce", bypass_csp=True)
    page = context.new_page()

    def violations(address):
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(WIDE)
        page.goto(address, wait_until="networkidle")
        page.add_style_tag(content=STILL)
        page.evaluate(axe)
        found = {"light": page.evaluate(FOUND, {})}
        page.emulate_media(color_scheme="dark")
        page.evaluate(DARKEN)
        found["dark"] = page.evaluate(FOUND, COLOURS)
        page.set_viewport_size(NARROW)
        return {**found, "narrow": page.evaluate(FOUND, {})}

    yield violations
    context.close()


NOTHING = {"light": [], "dark": [], "narrow": []}


@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing(kind, look, full_site):
    assert look(full_site.address + KINDS[kind]) == NOTHING


@pytest.mark.parametrize("kind", EMPTY)
def test_axe_finds_nothing_on_a_board_without_anybody(kind, look, empty_site):
    assert look(empty_site.address + EMPTY[kind]) == NOTHING
