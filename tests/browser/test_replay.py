"""The replay as a reader uses it, in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.leaderboard.pages import game_samples

ALICE_BOB = "tasks/{}/duels/alice+minimax--bob+mcts/"
FOUR = ALICE_BOB.format("connect_four")


@pytest.fixture(scope="module")
def record():
    """The duel of Connect Four that the site shows."""
    return game_samples.full().games[0].crosstable[("alice", "minimax"), ("bob", "mcts")].duel


def shown(page, style: str) -> int:
    """How many marks of a style are on the board; a mark may be a stroke without any width of its own."""
    script = "style => [...document.querySelectorAll(`.pr-stage .${style}`)].filter(e => e.style.display !== 'none').length"
    return page.evaluate(script, style)


def discs(page) -> int:
    return shown(page, "pr-disc")


def at(page, match, ply):
    expect(page).to_have_url(re.compile(rf"#match={match}&ply={ply}$"))


def test_it_opens_with_the_last_position_and_leaves_the_address(visit, record):
    page = visit(FOUR)

    assert discs(page) == record.matches[0].plies
    expect(page.locator(".pr-match")).to_have_text("Match 1 of 20")
    assert shown(page, "pr-line") == 1
    page.wait_for_timeout(300)
    assert "#" not in page.url


def test_buttons_step_and_the_address_follows(visit, record):
    page = visit(FOUR + "#match=8")
    last = record.matches[7].plies
    at(page, 8, last)
    page.get_by_label("One move back").click()
    at(page, 8, last - 1)
    assert discs(page) == last - 1
    assert shown(page, "pr-line") == 0
    page.get_by_label("First position").click()
    at(page, 8, 0)
    assert discs(page) == 0
    expect(page.get_by_label("One move back")).to_be_disabled()
    page.get_by_label("One move forward").click()
    assert discs(page) == 1
    page.get_by_role("button", name="Last position", exact=True).click()
    assert discs(page) == last
    page.get_by_role("button", name="Next match").click()
    at(page, 9, 0)
    page.get_by_role("button", name="Previous match").click()
    at(page, 8, 0)


def test_the_slider_goes_anywhere(visit):
    page = visit(FOUR)
    slider = page.get_by_label("Position after this many moves")
    slider.fill("5")
    at(page, 1, 5)
    assert discs(page) == 5
    slider.press("ArrowRight")
    assert discs(page) == 6
    slider.press("Home")
    assert discs(page) == 0


def test_keys_alone_are_enough(visit, record):
    page = visit(FOUR + "#match=1&ply=4")
    page.keyboard.press("ArrowRight")
    assert discs(page) == 5
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    at(page, 1, 3)
    page.keyboard.press("End")
    assert discs(page) == record.matches[0].plies
    page.keyboard.press("Home")
    assert discs(page) == 0
    page.get_by_label("One move forward").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    assert discs(page) == 2
    page.keyboard.press("PageDown")
    at(page, 2, 0)
    page.keyboard.press("PageUp")
    at(page, 1, 0)


def test_keys_scroll_the_page_where_the_replay_is_out_of_sight(visit):
    page = visit(FOUR, viewport={"width": 1200, "height": 500})
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    before = discs(page)
    page.keyboard.press("Home")
    expect(page.locator("h1")).to_be_in_viewport()
    assert discs(page) == before


def test_it_plays_by_itself_and_stops_at_the_end(visit, record):
    page = visit(FOUR)
    last = record.matches[0].plies
    page.get_by_label("Moves per second").select_option("10")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert discs(page) == last
    at(page, 1, last)


def test_space_plays_and_pauses(visit):
    page = visit(FOUR + "#match=1&ply=0")
    page.keyboard.press("Space")
    expect(page.locator(".pr-slider")).to_have_value("1")
    page.keyboard.press("Space")
    before = discs(page)
    page.wait_for_timeout(1300)
    assert discs(page) == before


def test_an_address_leads_to_its_position(visit, record):
    page = visit(FOUR + "#match=12&ply=7")

    expect(page.locator(".pr-match")).to_have_text("Match 12 of 20")
    assert discs(page) == 7
    mover = ["minimax", "mcts"][(11 + 6) % 2]
    column = record.match_moves()[11][6] + 1
    time = record.match_milliseconds()[11][6]
    expect(page.locator(".pr-status")).to_have_text(
        f"7 of {record.matches[11].plies}: {mover} drops into column {column} ({time} ms)."
    )
    expect(page.locator(".pr-turn")).to_have_text(f"{['minimax', 'mcts'][(11 + 7) % 2]} to move")
    page.evaluate("location.hash = '#match=3&ply=2'")
    expect(page.locator(".pr-match")).to_have_text("Match 3 of 20")
    assert discs(page) == 2


@pytest.mark.parametrize("mark", ["#match=99", "#match=0", "#match=x&ply=y", "#%", "#match=1e9&ply=-4"])
def test_an_address_of_nothing_does_no_harm(visit, mark):
    page = visit(FOUR + mark)

    expect(page.locator(".pr-match")).to_contain_text("Match 1 of 20")


def test_moves_of_the_opening_are_told_apart(visit):
    page = visit(FOUR + "#match=1&ply=1")

    expect(page.locator(".pr-status")).to_contain_text("(drawn from the seed)")


def test_a_refused_move_is_shown_with_the_reason(visit):
    page = visit(FOUR + "#match=2")

    assert shown(page, "pr-refused") == 1
    expect(page.locator(".pr-status")).to_contain_text(
        "How it ended: minimax tried move 3 (drops into column 4), which is not legal here"
    )
    page.keyboard.press("ArrowLeft")
    assert shown(page, "pr-refused") == 0


def test_a_card_opens_its_match(visit):
    page = visit(FOUR)
    page.locator("[data-match='5']").click()

    expect(page.locator(".pr-match")).to_have_text("Match 5 of 20")
    expect(page.locator(".pr-card[aria-current='true']")).to_have_count(1)
    expect(page.locator("#replay")).to_be_focused()


@pytest.mark.parametrize("game", ["tictactoe", "quarto", "rock_paper_scissors"])
def test_every_game_steps_from_start_to_end(visit, game):
    page = visit(ALICE_BOB.format(game) + "#match=2&ply=0")
    seen = set()
    for _ in range(int(page.get_by_label("Position after this many moves").get_attribute("max")) + 1):
        seen.add(page.locator(".pr-stage svg").inner_html())
        page.keyboard.press("ArrowRight")

    assert len(seen) == int(page.get_by_label("Position after this many moves").get_attribute("max")) + 1


def test_without_a_script_the_first_last_positions_are_there(visit):
    page = visit(FOUR + "#match=12", java_script_enabled=False)

    expect(page.locator("#replay")).to_be_hidden()
    expect(page.locator(".pr-card .pr-final")).to_have_count(12)
    expect(page.locator(".pr-card")).to_have_count(20)
    assert page.locator("[id='match=12'] .pr-final").bounding_box()["height"] > 200
    assert page.locator("[id='match=11'] .pr-final").bounding_box()["height"] < 150


@pytest.mark.parametrize("game", ["connect_four", "tictactoe", "quarto", "rock_paper_scissors"])
def test_a_phone_needs_no_scrolling_sideways(visit, game):
    long = f"alice+minimax--{'b' * 39}+{'a' * 40}"
    page = visit(f"tasks/{game}/duels/{long}/#match=1", viewport={"width": 360, "height": 740})

    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.locator(".pr-stage svg").bounding_box()["width"] <= 360


DARK, LIGHT = "rgb(30, 37, 48)", "rgb(255, 255, 255)"


@pytest.mark.parametrize(
    ("system", "chosen", "colour"),
    [("light", None, LIGHT), ("dark", None, DARK), ("dark", "default", LIGHT), ("light", "slate", DARK)],
)
def test_it_follows_the_system_and_the_palette_of_the_board(visit, system, chosen, colour):
    palette = f'{{"color": {{"scheme": "{chosen}"}}}}'
    before = f"localStorage.setItem('/board/.__palette', '{palette}')" if chosen else ""
    page = visit(FOUR, before, color_scheme=system)

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == colour


def test_a_game_without_a_drawing_steps_through_its_text(visit):
    page = visit(ALICE_BOB.format("chess") + "#match=1&ply=1")

    expect(page.locator(".pr-stage pre")).to_have_text("r n b\n. x .")
    expect(page.locator(".pr-status")).to_have_text("1 of 2: minimax plays 5 (drawn from the seed).")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".pr-stage pre")).to_have_text("<b> & </script>")


def test_a_game_without_a_drawing_steps_through_its_pictures_or_its_moves(visit):
    page = visit(ALICE_BOB.format("chess") + "#match=2&ply=1")

    assert page.locator(".pr-stage img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
    expect(page.locator(".pr-turn")).to_have_text("a player to move")
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".pr-match")).to_have_text("Match 2 of 4")
    page.locator("[data-match='3']").click()
    expect(page.locator(".pr-stage pre")).to_contain_text("This game has no picture. Its moves: 5 [6]")


def test_matches_are_filtered_and_most_of_them_folded(visit, record):
    page = visit(FOUR)
    numbers = page.locator(".pr-card .pr-what > b:first-child")
    draws = [str(index + 1) for index, match in enumerate(record.matches) if match.winner is None]
    page.get_by_label("Show").select_option("draw")
    assert [words.strip() for words in numbers.all_text_contents()] == draws

    page.get_by_label("Show").select_option("short")
    first = min(range(len(record.matches)), key=lambda index: record.matches[index].plies)
    expect(numbers.first).to_have_text(str(first + 1))
    expect(page.locator(".pr-more")).to_contain_text("8 more")


def test_matches_behind_the_fold_are_drawn_when_it_opens(visit, record):
    page = visit(FOUR)
    pictures = page.locator(".pr-more .pr-final")
    assert pictures.count() == 0

    page.locator(".pr-more > summary").click()
    expect(pictures).to_have_count(8)
    discs = "card => card.querySelectorAll('.pr-final .pr-disc').length"
    assert [page.locator(f".pr-card:has([data-match='{n}'])").evaluate(discs) for n in range(13, 21)] == [
        match.plies for match in record.matches[12:]
    ]
    views = page.locator(".pr-final").evaluate_all("all => [...new Set(all.map(one => one.getAttribute('viewBox')))]")
    assert len(views) == 1


def test_a_link_plays_the_last_moves(visit, record):
    page = visit(f"{FOUR}?play=1#match=8")

    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    assert record.matches[7].plies - 12 <= int(page.locator(".pr-slider").input_value()) < record.matches[7].plies


def test_the_colours_are_switched_for_the_whole_site(visit):
    page = visit(FOUR, color_scheme="light")
    page.get_by_role("button", name="Dark").click()

    expect(page.locator("body")).to_have_css("background-color", "rgb(30, 37, 48)")
    page.reload()
    expect(page.get_by_role("button", name="Light")).to_be_visible()


def test_a_visitor_guesses_the_next_move(visit):
    page = visit(FOUR)
    page.get_by_role("button", name="First position").click()
    page.get_by_role("button", name="Guess the next move").click()
    choices = page.locator(".pr-guess button")
    expect(page.locator(".pr-guess p")).to_contain_text("do next?")
    assert 2 <= choices.count() <= 4
    choices.first.click()

    expect(page.locator(".pr-guess p")).to_have_text(re.compile(r"^(Right|No): .* [01] of 1 right\.$"))
    page.keyboard.press("Enter")
    expect(page.locator(".pr-guess p")).to_contain_text("do next?")
    page.get_by_role("button", name="One move back").click()
    expect(page.locator(".pr-guess p")).to_have_count(0)
