"""The page for machines and the dashboard name what there is, and all of it."""

import json
import re
from pathlib import Path

import pytest

from leaderboard.api.site_documents import LINKS
from tests.leaderboard.api.leaderboards import all_boards, documents

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "site" / "pages" / "machines.md").read_text()
DASHBOARD = json.loads((ROOT / "site" / "assets" / "grafana.json").read_text())


@pytest.fixture(scope="module")
def counters():
    """The names of all boards' metrics."""
    metrics = [documents(*board)["metrics.txt"].decode() for board in all_boards().values()]
    return {name for text in metrics for name in re.findall(r"^(\w+)[{ ]", text, re.MULTILINE)}


def families(name):
    return re.sub("_(bucket|count|sum)$", "", name)


def test_the_page_names_every_document():
    for name, address in LINKS.items():
        if name != "result" and "badge" not in name:
            assert address in PAGE, name
    assert "badges/{login}/{agent}/{badge}.svg" in PAGE
    assert "api/index.json" in PAGE


def test_the_page_names_every_counter_and_no_other(counters):
    named = set(re.findall(r"^\| `(\w+)(?:\{[^}]*\})?` \|", PAGE, re.MULTILINE))

    assert named == {families(name) for name in counters}


def test_the_dashboard_asks_for_nothing_that_is_not_there(counters):
    asked = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    names = {name for expr in asked for name in re.findall(r"\b((?:submissions|evaluation|pullrank)_\w+)", expr)}

    assert names - counters == set()
    assert {families(name) for name in counters} == {families(name) for name in names}


def test_the_dashboard_has_panels_apart_from_each_other_and_asks_for_its_source():
    cells = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in DASHBOARD["panels"]
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23
    assert {panel["datasource"]["uid"] for panel in DASHBOARD["panels"]} == {"${datasource}"}
    assert "datasource" in {variable["name"] for variable in DASHBOARD["templating"]["list"]}
