"""One set of numbers: what `pullrank rank --json` prints is what pages, documents, tables and badges say."""

import csv
import html.parser
import io
import json
import math
import subprocess
import sys

import pytest

from evaluator.model.identifiers import safe_path_segment
from leaderboard.scoring.metrics import digits, other_metrics
from leaderboard.text.format import number, ranks, span

OVERALL = 3
CELLS = """all => all.map(row => [".pr-place", ".pr-value"].map(
  part => row.querySelector(part).textContent.trim().replace(/\\s+/g, " ")))"""
NAN = float("nan")


class Tables(html.parser.HTMLParser):
    """The words of every table's body, row by row; what a row calls itself and links to beside them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[dict]] = []
        self._cell: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append({"who": given.get("data-who"), "links": [], "cells": []})
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self._cell = []
            self.tables[-1][-1]["cells"].append(self._cell)
        elif tag == "a" and self._cell is not None:
            self.tables[-1][-1]["links"].append(given.get("href", ""))

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell.append(data)


def rows_of(text: str) -> list[list[dict]]:
    """Of each table, below its first row."""
    return [[{**row, "cells": ["".join(c).strip() for c in row["cells"]]} for row in one[1:]] for one in Tables(text).tables]


def all_rows(text: str) -> list[dict]:
    return [row for table in rows_of(text) for row in table]


@pytest.fixture(scope="module")
def printed(full_site):
    """What the command prints."""
    command = [sys.executable, "-m", "scripts.cli", "rank", "--json", "--official"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=full_site.board.root, check=True)
    return json.loads(done.stdout)


def document(site, path):
    return json.loads(site.text(f"api/{path}"))


def name(row) -> str:
    return f"{row['login']}/{row['agent']}"


def known(value):
    return NAN if value is None else value


def estimated(row) -> tuple[float, float, float]:
    estimate = row["estimate"] if "estimate" in row else {**row["rating"], "score": row["rating"]["elo"]}
    return tuple(known(estimate[key]) for key in ("score", "low", "high"))


def same(actual, wanted) -> bool:
    """The same document: the same names and words, and numbers as far as rounding leaves them."""
    if isinstance(wanted, dict):
        return isinstance(actual, dict) and all(key in actual and same(actual[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(actual) == len(wanted) and all(map(same, actual, wanted))
    if isinstance(wanted, float) and isinstance(actual, (int, float)):
        return math.isclose(actual, wanted, rel_tol=1e-9, abs_tol=1e-9)
    return actual == wanted


def place(row) -> str:
    return "–" if row["place"] is None else str(row["place"])


def place_and_range(row) -> str:
    """The range is left out where it is the place alone."""
    if row["place"] is None or row["rank_low"] == row["rank_high"]:
        return place(row)
    return f"{place(row)} {ranks(row['rank_low'], row['rank_high'])}"


def shown(row, decimals: int) -> str:
    score, low, high = estimated(row)
    return f"{number(score, decimals)} {span(low, high, decimals)}"


def test_every_board_has_what_it_is_to_have(printed):
    boards = {board["task"]: len(board["rows"]) for board in [*printed["tasks"], *printed["games"]]}

    assert boards["CartPole-v1"] == boards["MountainCar-v0"] == boards["Acrobot-v1"] == 6
    assert boards["CartPole-v1-from-scratch"] == 2
    assert boards["connect_four"] == 4
    assert len(printed["overall"]) == 6
    # Two share the first place, one with every episode as it has, and some numbers are negative.
    assert [row["place"] for row in printed["tasks"][0]["rows"] if row["place"] is not None][:3] == [1, 1, 1]
    assert estimated(printed["tasks"][1]["rows"][0])[0] < 0


def test_every_task_says_the_same_everywhere(printed, full_site):
    tasks = {task.id: task for task in full_site.board.challenge.tasks}
    looked = 0
    for board in [*printed["tasks"], *printed["games"]]:
        task = tasks[board["task"]]
        looked += is_one_board(full_site, task, board)

    assert looked == sum(len(board["rows"]) for board in [*printed["tasks"], *printed["games"]]) == 24


def is_one_board(site, task, board) -> int:
    """Compare page, documents, tables, agents' pages and badges of one board with what was printed; how many rows."""
    segment = safe_path_segment(task.id)
    published = document(site, f"tasks/{segment}/leaderboard.json")
    table = document(site, f"tasks/{segment}/table.json")
    lines = list(csv.DictReader(io.StringIO(site.text(f"api/tasks/{segment}/leaderboard.csv"), newline="")))
    page = {row["who"]: row["cells"] for row in all_rows(site.text(f"tasks/{segment}/index.html")) if row["who"]}
    decimals = 0 if task.game else digits(task)
    ranked = [row for row in board["rows"] if row["place"] is not None]
    assert same(published["rows"], board["rows"]), task.id
    for key in ("failures", "excluded", "withdrawn", "waiting"):
        assert same(published.get(key, []), board.get(key, [])), (task.id, key)
    order = [name(row) for row in board["rows"]]
    assert order == [name(row) for row in lines]
    assert order == [name(dict(zip(table["columns"], values, strict=True))) for values in table["rows"]]
    assert order == list(page)[: len(order)]
    for row, line, values in zip(board["rows"], lines, table["rows"], strict=True):
        cells, cut = page[name(row)], dict(zip(table["columns"], values, strict=True))
        score, low, high = estimated(row)
        # Documents for machines say what was reckoned, pages what is left of it after rounding.
        for key, value in (("score", score), ("low", low), ("high", high)):
            assert same(float(line[key]), value), (task.id, name(row), key)
            assert same(cut[key], value), (task.id, name(row), key)
        for key in ("rank_low", "rank_high", "attempts"):
            assert str(row[key]) == line[key] == str(cut[key])
        assert line["place"] == ("" if row["place"] is None else str(row["place"]))
        assert [cells[0], cells[2]] == [place_and_range(row), shown(row, decimals)]
        if task.game:
            for key in ("wins", "draws", "losses", "points"):
                assert str(row[key]) == line[key] == str(cut[key])
        for metric in () if task.game else other_metrics(task):
            value = row["metrics"][metric.name]
            assert same(float(line[f"metric:{metric.name}"]), value)
            assert same(cut[f"metric:{metric.name}"], value)
        is_one_agent(site, task, row, decimals, len(ranked))
    return len(board["rows"])


def is_one_agent(site, task, row, decimals: int, count: int) -> None:
    """Compare an agent's page, document and badges of one task."""
    agent = document(site, f"agents/{name(row)}.json")
    own = next(one for one in agent["tasks"] if one["task"] == task.id)
    assert same(own, {key: value for key, value in row.items() if key in own and key not in ("login", "agent", "name")})
    score = estimated(row)[0]
    address = f"tasks/{safe_path_segment(task.id)}/".replace("%", "%25")
    tables = all_rows(site.text(f"agents/{name(row)}/index.html"))
    cells = next(one["cells"] for one in tables if any(link.endswith(f"../{address}") for link in one["links"]))
    assert cells[0] == place(row)
    assert " ".join(cells[3:5]).strip() == shown(row, decimals), (name(row), cells)
    badge = json.loads(site.text(f"badges/{name(row)}/{safe_path_segment(task.id)}.json"))["message"]
    drawn = site.text(f"badges/{name(row)}/{safe_path_segment(task.id)}.svg")
    assert badge.endswith(f"{'Elo ' if task.game else ''}{number(score, decimals)}"), badge
    assert row["place"] is None or badge.startswith(f"#{row['place']} of {count} ")
    assert badge in drawn


def test_the_overall_board_says_the_same_everywhere(printed, full_site):
    published = document(full_site, "overall.json")
    count = sum(row["place"] is not None for row in printed["overall"])

    assert same(published["rows"], printed["overall"])
    for path, at in (("index.html", "agents/"), ("overall/index.html", "../agents/")):
        table_rows = [row for row in all_rows(full_site.text(path)) if row["links"] and row["links"][0].startswith(at)]
        for row in printed["overall"]:
            cells = next(one["cells"] for one in table_rows if one["links"][0] == f"{at}{name(row)}/")
            assert [cells[0], cells[3]] == [place_and_range(row), shown(row, OVERALL)], path
            is_shown = 2 * row["played"] >= len(row["normalised"])
            assert (number(row["iqm"], OVERALL) in " ".join(cells).split()) == is_shown, path
    for row in printed["overall"]:
        agent = document(full_site, f"agents/{name(row)}.json")
        badge = json.loads(full_site.text(f"badges/{name(row)}/overall.json"))["message"]
        words = " ".join(full_site.pages[f"agents/{name(row)}/index.html"].words.split())
        score, low, high = estimated(row)

        assert same(agent["overall"], {key: row[key] for key in agent["overall"]})
        assert badge.endswith(number(score, OVERALL))
        if row["place"] is not None:
            assert f"score {number(score, OVERALL)} ({span(low, high, OVERALL)})" in words
            assert badge.startswith(f"#{row['place']} of {count} ")


def test_a_table_in_the_browser_says_what_the_page_said_before(chromium, full_site):
    """The script writes the same rows as the page has without it."""
    page = chromium.new_context(viewport={"width": 1200, "height": 1000}).new_page()
    for task in ("CartPole-v1", "MountainCar-v0", "CartPole-v1-from-scratch", "connect_four"):
        before = next(t for t in rows_of(full_site.text(f"tasks/{task}/index.html")) if any(row["who"] for row in t))
        page.goto(f"{full_site.address}tasks/{task}/?sort=place")
        page.wait_for_selector(".pr-table table.pr-board tbody tr")
        page.wait_for_timeout(300)
        after = page.locator(".pr-table table.pr-board").first.locator("tbody tr").evaluate_all(CELLS)

        assert after == [[" ".join(row["cells"][index].split()) for index in (0, 2)] for row in before]
    page.close()
