"""Feeds: both forms say the same events, with addresses that lead to pages."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

from tests.leaderboard.api.leaderboards import CONTEXT, SITE, departed, documents
from tests.leaderboard.pages import game_samples, samples

ATOM = "{http://www.w3.org/2005/Atom}"


def entries(content):
    return ET.fromstring(content).findall(f"{ATOM}entry")


def test_both_forms_say_the_same():
    files = documents(samples.crowded(), departed())

    for name in ("board", "CartPole-v1", "ALE%2FPong-v5"):
        atom, feed = entries(files[f"feeds/{name}.atom"]), json.loads(files[f"feeds/{name}.json"])
        assert [one.findtext(f"{ATOM}id") for one in atom] == [one["id"] for one in feed["items"]]
        assert [one.findtext(f"{ATOM}title") for one in atom] == [one["title"] for one in feed["items"]]


def test_every_entry_has_an_id_of_its_own_a_moment_and_an_address():
    files = documents(game_samples.full())
    feed = json.loads(files["feeds/board.json"])

    assert feed["items"]
    assert len({one["id"] for one in feed["items"]}) == len(feed["items"])
    assert all(one["url"].startswith(SITE + "agents/") for one in feed["items"])
    for one in entries(files["feeds/board.atom"]):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", one.findtext(f"{ATOM}updated"))


def test_ids_stay_when_the_site_moves():
    here, there = documents(samples.one()), documents(samples.one(), replace(CONTEXT, site_url="https://other.example/"))

    ids = [[one["id"] for one in json.loads(files["feeds/board.json"])["items"]] for files in (here, there)]
    assert ids[0] == ids[1] != []


def test_an_empty_board_has_an_empty_feed():
    files = documents(samples.empty())

    assert entries(files["feeds/board.atom"]) == []
    assert ET.fromstring(files["feeds/board.atom"]).findtext(f"{ATOM}updated") == "2026-01-02T03:04:00Z"


def test_without_an_address_links_are_relative_and_json_has_none():
    files = documents(samples.one(), replace(CONTEXT, site_url=""))

    links = [link.get("href") for link in ET.fromstring(files["feeds/CartPole-v1.atom"]).iter(f"{ATOM}link")]
    assert links == ["../feeds/CartPole-v1.atom", "../tasks/CartPole-v1/", "../agents/alice/angle-rule/"]
    assert "url" not in json.loads(files["feeds/board.json"])["items"][0]
