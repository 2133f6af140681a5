"""What the search of the site looks through."""

import json
from dataclasses import replace

from scripts.static_site import search_index
from tests.leaderboard.pages import game_samples, samples


def test_pages_become_plain_text_and_agents_and_duels_are_there(tmp_path):
    path = tmp_path / "search_index.json"
    page = {
        "location": "x/",
        "title": "The <code>pullrank</code> command",
        "text": "<p>On<br>the lake &amp; more</p><ul><li>a</li><li>b</li>",
    }
    path.write_text(json.dumps({"config": {}, "docs": [page]}))
    search_index.write(path, replace(samples.one(), games=game_samples.full().games))
    docs = json.loads(path.read_text())["docs"]
    by_location = {doc["location"]: doc for doc in docs}

    assert by_location["x/"] == {"location": "x/", "title": "The pullrank command", "text": "On the lake & more a b"}
    agent = by_location["agents/alice/minimax/"]
    assert agent["title"] == "minimax"
    assert agent["text"].startswith("Agent by alice, alice/minimax, ")
    assert "Place 1 in Connect Four" in agent["text"]
    assert by_location["tasks/connect_four/duels/alice%2Bminimax--bob%2Bmcts/"]["title"] == "minimax v mcts"


def test_a_site_without_a_search_stays_without_one(tmp_path):
    search_index.write(tmp_path / "none.json", samples.one())

    assert not (tmp_path / "none.json").exists()
