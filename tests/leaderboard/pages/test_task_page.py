"""The page of a task: what stands in it, what is behind the switch, and what it says of time and of doubt."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.charts.interval_charts import ChartScale
from leaderboard.pages import template_renderer
from leaderboard.pages.render_pages import render_pages
from leaderboard.text import format, urls
from tests.leaderboard.api.leaderboards import api_files
from tests.leaderboard.pages import everything, game_samples, samples
from tests.leaderboard.pages.test_render_pages import words
from tests.needs import node

POLE = "tasks/CartPole-v1.md"
FORMAT = Path(__file__).parents[3] / "site" / "assets" / "js" / "format.js"


def page(board, context=samples.CONTEXT) -> str:
    return render_pages(board, context)[POLE]


def crowd(count: int):
    entries = [samples.entry(f"agent-{i}", f"user-{i}") for i in range(count)]
    return [samples.row(who, samples.POLE, i + 1, 400.0 - i) for i, who in enumerate(entries)]


def test_the_first_hundred_stand_in_the_page_and_the_rest_in_documents():
    text = page(samples.board(samples.task_board(samples.POLE, crowd(130))))

    assert text.count("data-who=") == 100
    assert "The first 100 of 130. Download all rows: CSV, JSON." in words(text)
    assert "leaderboard.csv" in text


def test_arrows_are_explained_where_there_are_some():
    far = samples.row(samples.entry("random", baseline=True), samples.POLE, 9, 22.0)
    near = samples.board(samples.task_board(samples.POLE, crowd(3)))
    both = samples.board(samples.task_board(samples.POLE, [*crowd(3), far]))

    assert "An arrow means" not in page(near)
    assert "An arrow means" in page(both)


def test_every_head_says_what_it_heads():
    heads = re.findall("<th .*?>", page(samples.crowded()))

    assert heads
    assert all('scope="' in head for head in heads)


def test_long_lists_of_failures_are_cut_and_counted():
    failures = [samples.failure(samples.entry(f"agent-{i}", "bob"), samples.POLE) for i in range(120)]
    text = words(page(samples.board(samples.task_board(samples.POLE, crowd(1), failures))))

    assert "Not ranked: 120 failed" in text
    assert "The first 100 of 120; the files above have all of them." in text


def test_what_is_not_ranked_stands_open_only_where_nothing_is_ranked():
    assert '<details class="pr-unranked" data-search-exclude open>' in page(samples.failed())
    assert '<details class="pr-unranked" data-search-exclude>' in page(samples.crowded())


def test_the_resolution_is_said_in_words():
    text = words(page(samples.board(samples.task_board(samples.POLE, crowd(3)))))

    assert "Gaps smaller than about 7.1 points are within noise." in text


@pytest.mark.parametrize("name", ["one", "tied", "empty"])
def test_nothing_is_said_of_a_resolution_that_nobody_knows(name):
    assert "are within noise" not in words(page(getattr(samples, name)()))


def test_a_task_without_bounds_says_what_its_intervals_cannot_see():
    unbounded = samples.POLE.model_copy(update={"bounds": None, "episodes": 40})
    unseen = "fewer than about 7.5 % of episodes may never have happened in 40"

    assert unseen in words(page(samples.board(samples.task_board(unbounded, crowd(2)))))
    assert "rule of three" not in page(samples.board(samples.task_board(samples.POLE, crowd(2))))


def test_history_is_told_once_there_are_two_days():
    one, two = samples.entry("a", "alice"), samples.entry("b", "bob")
    day = {"provenance": {"commit": None, "run_url": None, "evaluated_at": "2026-01-03T12:00:00Z"}}
    results = (
        samples.result(one, samples.POLE, (400.0,)),
        samples.result(two, samples.POLE, (450.0,), **day),
    )
    board = samples.board(
        samples.task_board(
            samples.POLE, [samples.row(two, samples.POLE, 1, 450.0), samples.row(one, samples.POLE, 2, 400.0)]
        )
    )
    text = words(page(board, replace(samples.CONTEXT, results=results)))

    assert "By the date of each result." in text
    assert "2026-01-03 b bob 450.0 2026-01-01 a alice 400.0" in text
    assert "By the date of each result." not in words(page(board, replace(samples.CONTEXT, results=results[:1])))


def test_a_game_has_the_same_table():
    game = game_samples.board(game_samples.TICTACTOE, game_samples.players())
    text = render_pages(replace(samples.empty(), games=(game,)), samples.CONTEXT)["tasks/tictactoe.md"]

    assert text.count("data-who=") == 4
    assert 'data-column="algorithm"' in text
    assert "assets/js/table.js" in text


def test_addresses_of_documents_and_forges():
    assert urls.task_documents("ALE/Pong-v5") == "api/tasks/ALE%252FPong-v5/"
    assert template_renderer.forge_url("https://github.com/example/board") == "https://github.com"
    assert [template_renderer.forge_url(None), template_renderer.forge_url("")] == ["", ""]
    assert template_renderer.scale_marks(ChartScale(low=0, high=1, marks=(0.5, -3.0))) == "0.5 -3.0"


def in_browser(cases: list[tuple[float, int]]) -> list[str]:
    script = (
        f"import {{ number }} from {json.dumps(FORMAT.as_uri())};"
        "import fs from 'node:fs';"
        "const cases = JSON.parse(fs.readFileSync(0, 'utf8'));"
        "console.log(JSON.stringify(cases.map(([value, decimals]) => number(value, decimals))));"
    )
    done = subprocess.run(
        [node(), "--input-type=module", "-e", script], input=json.dumps(cases), capture_output=True, text=True
    )
    texts: list[str] = json.loads(done.stdout)
    return texts


HALVES = st.builds(lambda whole, power: whole / 2**power, st.integers(-(10**9), 10**9), st.integers(0, 8))
CASES = st.lists(
    st.tuples(st.floats(-1e23, 1e23) | st.floats(allow_nan=False, allow_infinity=False) | HALVES, st.integers(0, 6)),
    min_size=60,
    max_size=60,
)


@settings(max_examples=8, deadline=None)
@given(CASES)
def test_the_script_writes_numbers_as_the_pages_do(cases):
    assert in_browser(cases) == [format.number(value, decimals) for value, decimals in cases]


@pytest.mark.attack(
    "claim_of_three_hundred_digits", family="pages", outcome="written with an exponent",
    tries="Claims the largest number there is, whose digits push the table's other columns out of sight.",
)  # fmt: skip
def test_no_number_fills_a_table():
    assert format.number(1.7e308) == "1.7e+308"
    assert format.number(-1e21, 3) == "\N{MINUS SIGN}1e+21"
    assert len(format.number(-999_999_999_999_999_868_928.0, 0)) < 30


def test_what_came_out_again_is_marked_in_the_page_and_in_its_table():
    board = samples.board(samples.task_board(samples.POLE, crowd(2)))
    key = board.tasks[0].rows[1].result.key
    marked = replace(samples.CONTEXT, reproduced=frozenset([key]))

    assert "agent-1 reproduced" in words(page(board, marked))
    assert "reproduced" not in page(board)
    table = json.loads(dict(api_files(board, marked))["api/tasks/CartPole-v1/table.json"])
    assert [row[table["columns"].index("flags")] for row in table["rows"]] == [[], ["reproduced"]]


def test_a_place_that_several_versions_were_tried_for_says_so_on_every_page_and_document():
    first, second = crowd(2)
    draws = (*second.pooled_results, samples.result(second.entry, samples.POLE, (1.0, 2.0)))
    board = samples.board(samples.task_board(samples.POLE, [first, replace(second, tries=3, pooled_results=draws)]))
    pages = {path: words(text) for path, text in everything.render(board, samples.CONTEXT).items()}
    table = json.loads(dict(api_files(board, samples.CONTEXT))["api/tasks/CartPole-v1/table.json"])
    place = {name: [row[table["columns"].index(name)] for row in table["rows"]] for name in ("tries", "episodes")}

    mark = "provisional, 3 versions tried"
    assert pages[POLE].count(mark) == 1
    assert [path for path, text in pages.items() if mark in text] == [POLE, "agents/user-1/agent-1.md"]
    assert place == {"tries": [1, 3], "episodes": [100, 102]}
