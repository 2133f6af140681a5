"""A visitor against the leader: the page's rules against the environment's, books of strangers, and a match by keyboard."""

import json
import random
import re
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from evaluator.host.envs.pettingzoo_game import open_game
from leaderboard.games.opening_book import BOOK_MATCHES, has_book, opening_book, rules_name
from tests import needs
from tests.browser.node import needed
from tests.browser.test_axe import FOUND, STILL
from tests.leaderboard.pages import game_samples

ASSETS = Path(__file__).parents[2] / "site" / "assets" / "js"
PLAYABLE = [game_samples.TICTACTOE, game_samples.CONNECT_FOUR]
PAGE = "tasks/tictactoe/"


@pytest.fixture(scope="module")
def site(whole_site):
    return whole_site


def node(expression, **values):
    """What an expression is, as JSON, beside the modules `rules` and `book`."""
    imports = f"import * as rules from {json.dumps(str(ASSETS / 'game-rules.js'))};\n"
    imports += f"import * as book from {json.dumps(str(ASSETS / 'opening-book.js'))};\n"
    names = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items())
    code = f"{imports}{names}console.log(JSON.stringify({expression}));"
    command = [needs.node(), "--input-type=module", "-"]
    done = subprocess.run(command, input=code, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def playouts(task, count):
    """Matches by lot: their moves, the legal moves before each, and the winner by the environment's rewards."""
    chance = random.Random(5)
    environment = open_game(task).make()
    for _ in range(count):
        environment.reset(seed=0)
        names, moves, legal = list(environment.possible_agents), [], []
        while True:
            observation, _, terminated, truncated, _ = environment.last()
            if terminated or truncated:
                break
            legal.append([int(move) for move in observation["action_mask"].nonzero()[0]])
            moves.append(chance.choice(legal[-1]))
            environment.step(moves[-1])
        rewards = [environment.rewards[name] for name in names]
        yield {"moves": moves, "legal": legal, "winner": None if rewards[0] == rewards[1] else rewards.index(max(rewards))}


@pytest.mark.parametrize("task", PLAYABLE, ids=lambda task: task.id)
def test_the_rules_of_the_page_are_the_environments(task):
    expected = list(playouts(task, 150))
    matches = [match["moves"] for match in expected]
    played = node(
        """matches.map((moves) => {
          const position = new rules.Position(rules.rulesOf(name));
          const legal = moves.map((move) => { const before = position.legal; position.play(move); return before; });
          return { moves: position.moves, legal, winner: position.winner, over: position.isOver, after: position.legal };
        })""",
        matches=matches,
        name=rules_name(task),
    )

    assert [{name: match[name] for name in ("moves", "legal", "winner")} for match in played] == expected
    assert all(match["over"] and match["after"] == [] for match in played)
    assert {match["winner"] for match in expected} >= {0, 1}


@pytest.mark.parametrize("task", PLAYABLE, ids=lambda task: task.id)
def test_a_book_holds_what_the_leader_played(task):
    (board,) = (board for board in game_samples.full().games if board.task.id == task.id)
    document = json.loads(opening_book(board))
    read = node("(({ matches, refused, leader, openings }) => ({ matches, refused, leader, sides: openings.length }))"
                "(book.readBook(text))", text=opening_book(board))  # fmt: skip

    assert has_book(board)
    assert len(document["matches"]) == read["matches"] > 0
    assert (read["refused"], read["leader"]) == (0, board.rows[0].entry.submission.name)
    assert len(opening_book(board)) < 60 * BOOK_MATCHES


def test_games_without_rules_on_the_page_have_no_book():
    boards = {board.task.id: has_book(board) for board in game_samples.full().games}

    assert {name for name, has in boards.items() if has} == {"tictactoe", "connect_four"}


READ = """((read) => read && { matches: read.matches, refused: read.refused, positions: read.moves.size,
  clean: Object.keys(Object.prototype).length === 0 && ({}).polluted === undefined })(book.readBook(text))"""


def book(matches, **fields):
    return json.dumps({"game": "tictactoe", "leader": "Best", "opening": 0, "matches": matches, **fields})


@pytest.mark.attack(
    "book_with_illegal_moves", family="pages", outcome="the match is left out",
    tries="Has matches in the book of a game that break its rules: a taken square, a move after the end, a move too many.",
)  # fmt: skip
@pytest.mark.parametrize("moves", ["00", "0314258", "9", "0" * 9, "-1", "0.5", "٣", "012345678", "0 3"])
def test_a_match_against_the_rules_is_left_out(moves):
    read = node(READ, text=book([[0, moves], [0, "48"]]))

    assert read == {"matches": 1, "refused": 1, "positions": 1, "clean": True}


@pytest.mark.attack(
    "book_that_never_ends", family="pages", outcome="refused",
    tries="Has a book of a million matches, of matches that go round in circles, or of megabytes.",
)  # fmt: skip
@pytest.mark.parametrize("matches", [[[0, "0"]] * (BOOK_MATCHES + 1), [[0, "01" * 200_000]], [[0, "8" * 10]] * 20])
def test_a_huge_book_is_refused(matches):
    read = node(READ, text=book(matches))

    assert read is None or (read["matches"], read["refused"]) == (0, 20)


@pytest.mark.attack(
    "book_with_prototype_keys", family="pages", outcome="refused, and no object has changed",
    tries="Names __proto__, constructor or toString as the game, a key or a player of a book.",
)  # fmt: skip
@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString", "hasOwnProperty"])
def test_names_of_prototypes_are_no_games(name):
    polluting = book([[0, "4"]]).replace("{", '{"__proto__": {"polluted": 1, "game": "connect_four"},', 1)

    assert node(READ, text=book([], game=name)) is None
    assert node(READ, text=polluting) == {"matches": 1, "refused": 0, "positions": 1, "clean": True}


@pytest.mark.attack(
    "book_of_a_wrong_shape", family="pages", outcome="refused, or the match is left out",
    tries="Has lists for texts, texts for lists, numbers out of range and objects in a book.",
)  # fmt: skip
@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "7", '"x"', "{", "{}", book({"0": 1}), book([], leader=7), book([], leader="x" * 61),
        book([], opening=-1), book([], opening=1.5), book([], opening="2"), book([], game=["tictactoe"]), book(None),
    ],
)  # fmt: skip
def test_what_is_no_book_is_refused(text):
    assert node(READ, text=text) is None


@pytest.mark.parametrize(
    "match", [None, 7, [], [0], [2, "0"], ["0", "0"], [0, 4], [0, ["4"]], {"0": 0}, [0, "4", 1], [True, "4"]]
)
def test_what_is_no_match_is_left_out(match):
    assert node(READ, text=book([match]))["refused"] == 1


def test_the_most_frequent_move_is_played_and_openings_are_no_choices():
    moves = node(
        """(() => {
          const read = book.readBook(text);
          const position = new rules.Position(read.rules);
          const first = book.bookMove(read, position);
          position.play(0);
          return [first, book.bookMove(read, position)];
        })()""",
        text=book([[1, "048"], [1, "048"], [1, "03"], [0, "4"]], opening=1),
    )

    assert moves == [None, {"move": 4, "times": 2, "of": 3}]


def test_the_stand_in_wins_and_blocks():
    moves = node(
        """matches.map((moves) => {
          const position = new rules.Position(rules.rulesOf("connect_four"));
          for (const move of moves) position.play(move);
          return book.standInMove(position);
        })""",
        matches=[[0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 0], []],
    )

    assert moves == [0, 0, 3]


def served(page, text):
    page.route("**/book.json", lambda route: route.fulfill(body=text, content_type="application/json"))


def start(visit, text, path=PAGE, **options):
    page = visit(path, **options)
    served(page, text)
    page.locator(".pr-play").get_by_role("button", name="Play").click()
    return page


@pytest.mark.attack(
    "leader_named_like_markup", family="pages", outcome="shown as text",
    tries="Leads a game under a name that is markup, so that it runs in the page of who plays against it.",
)  # fmt: skip
def test_a_name_is_shown_as_text(visit):
    name = "</bdi><img src=x onerror=alert(1)>"
    page = start(visit, book([[1, "048"]], leader=name))

    expect(page.locator(".pr-play bdi").first).to_have_text(name)
    assert page.locator(".pr-play img").count() == 0


def test_a_match_by_keyboard_says_where_each_move_comes_from(visit):
    page = start(visit, book([[1, "0483"]]))
    squares = page.locator(".pr-play-board button")
    squares.first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".pr-play-source")).to_have_text(
        "From the book: Best played middle column, middle row in 1 of 1 recorded matches from here."
    )
    expect(page.locator(".pr-play-status")).to_have_text("Your move; you are X.")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")

    expect(page.locator(".pr-play-source")).to_contain_text("Out of book: Best never stood here in a recorded match.")
    expect(page.locator(".pr-play-source")).to_contain_text("A stand-in of this page plays")
    expect(page.locator(".pr-play-source")).to_contain_text("It is not the leader.")


def test_a_match_is_played_to_its_end_and_counted(visit):
    page = start(visit, book([[1, "0"]]))
    status = page.locator(".pr-play-status")
    while True:
        expect(status).to_have_text(re.compile("Your move|win|lose|draw"))
        if "Your move" not in status.text_content():
            break
        page.locator(".pr-play-board button[aria-disabled=false]").first.click()

    expect(page.locator(".pr-play .pr-row .pr-by")).to_have_text(re.compile(r"You: \d won, \d lost, \d drawn"))
    page.get_by_role("button", name="New match").click()
    expect(status).to_have_text(re.compile("Your move"))  # the leader has begun
    assert len(page.locator(".pr-play-board").get_attribute("data-moves").split()) == 1


def test_a_book_that_cannot_be_read_is_said(visit):
    page = start(visit, "{")

    expect(page.get_by_role("alert")).to_contain_text("The recorded matches could not be read")


@pytest.mark.parametrize("path", [PAGE, "tasks/connect_four/"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_and_fits_a_phone(visit, path, scheme):
    options = {"viewport": {"width": 360, "height": 800}, "reduced_motion": "reduce", "bypass_csp": True}
    page = visit(path, color_scheme=scheme, **options)
    page.locator(".pr-play").get_by_role("button", name="Play").click()
    expect(page.locator(".pr-play-status")).to_have_text(re.compile("Your move"))

    page.add_style_tag(content=STILL)
    page.evaluate((needed("axe-core") / "axe.min.js").read_text("utf-8"))
    assert page.evaluate(FOUND, {}) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 360
