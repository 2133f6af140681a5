"""Pages on paper, and on a phone: what is wider than a sheet or a screen breaks into lines."""

import pytest

from tests.browser.built import KINDS, Tab

# A4 less the margins that browsers leave, in CSS pixels.
SHEET = {"width": 718, "height": 1000}
PHONE = {"width": 360, "height": 740}
OPEN = "() => document.querySelectorAll('main details').forEach((one) => { one.open = true; })"
# What ends beyond the paper, what is cut off, and what would have to be scrolled; words for screen readers
# and windows on replays are meant to be cut.
LOST = """() => {
  const edge = document.documentElement.clientWidth + 1;
  const isMeant = (one) => one.closest(".pr-hidden, .pr-screen, svg svg, input, select, textarea, [hidden]");
  const name = (one) => `${one.tagName}.${one.getAttribute("class") ?? ""} ${one.textContent.trim().slice(0, 40)}`;
  const seen = [...document.querySelectorAll("main *")].filter((one) => one.getClientRects().length && !isMeant(one));
  const isBeyond = (box) => box.width && (box.right > edge || box.left < -1);
  const beyond = seen.filter((one) => [...one.getClientRects()].some(isBeyond));
  const cut = seen.filter((one) => {
    const style = getComputedStyle(one);
    if (one instanceof SVGElement || style.display === "inline") return false;
    return (style.overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1)
      || (style.overflowY !== "visible" && one.scrollHeight > one.clientHeight + 2);
  });
  return [...beyond.map((one) => `beyond: ${name(one)}`), ...cut.map((one) => `cut: ${name(one)}`)].slice(0, 8);
}"""


@pytest.fixture(scope="module")
def sheet(chromium):
    context = chromium.new_context(viewport=SHEET, reduced_motion="reduce")
    yield Tab(context.new_page())
    context.close()


@pytest.fixture(scope="module")
def phone(chromium):
    context = chromium.new_context(viewport=PHONE, reduced_motion="reduce")
    yield Tab(context.new_page())
    context.close()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_at_the_edge_of_the_paper(kind, sheet, full_site):
    page = sheet.visit(full_site.address + KINDS[kind])
    page.emulate_media(media="print")
    page.evaluate(OPEN)
    try:
        lost = page.evaluate(LOST)
    finally:
        page.emulate_media(media="screen")

    assert lost == []


COLUMNS = """kinds => [...document.querySelector("main table.pr-board").rows].flatMap((row) => {
  const edge = row.closest(".pr-scroll").getBoundingClientRect().right;
  const cells = kinds.map((kind) => row.querySelector(kind)).filter(Boolean);
  return cells.filter((one) => one.getBoundingClientRect().right > edge + 0.5).map((one) => one.outerHTML.slice(0, 80));
})"""


@pytest.mark.parametrize("kind", ["task", "task-state", "overall", "home", "game"])
def test_place_name_and_score_stand_side_by_side_on_a_phone(kind, phone, full_site):
    page = phone.visit(full_site.address + KINDS[kind].partition("?")[0])

    assert page.locator("main table.pr-board").first.locator("td.pr-value").count() > 1
    assert page.evaluate(COLUMNS, [".pr-pick", ".pr-place", ".pr-ranks", ".pr-who", ".pr-value"]) == []


# Names in the first column of the manual's tables that stand in more than one line though one has room for them.
BROKEN = """() => [...document.querySelectorAll("main table:not([class]) td:first-child code")]
  .filter((one) => /^\\w{1,20}$/.test(one.textContent) && one.getClientRects().length > 1).map((one) => one.textContent)"""
TABLES = """() => [...document.querySelectorAll("main .md-typeset__scrollwrap")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.innerText.slice(0, 60))"""


@pytest.mark.parametrize("address", ["threats/", "host/challenge/", "host/settings/", "host/metrics/", "machines/"])
def test_tables_of_the_manual_fit_a_phone_without_cut_names(address, phone, full_site):
    page = phone.visit(full_site.address + address)

    assert page.evaluate(BROKEN) == []
    assert page.evaluate(TABLES) == []


def test_cards_stand_two_by_two_on_a_phone_and_hold_their_marks(phone, full_site):
    page = phone.visit(full_site.address)
    cards = page.locator(".pr-card")
    lefts = cards.evaluate_all("all => all.slice(0, 2).map(one => one.getBoundingClientRect().left)")
    cut = page.locator(".pr-card .pr-tag").evaluate_all(
        "all => all.filter(one => one.getBoundingClientRect().right > one.closest('.pr-card').getBoundingClientRect().right)"
    )

    assert lefts[0] < lefts[1]
    assert page.locator(".pr-card .pr-tag").count() > 0
    assert cut == []
