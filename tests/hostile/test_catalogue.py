"""The catalogue of attacks is complete and says of each what it tries."""

import ast
import json
import re
from collections import Counter

import pytest

from tests.hostile import report
from tests.hostile.catalogue import AGENTS, FAMILIES, CatalogueEntry, CatalogueError, _marked, catalogue, first_sentence

ENTRIES = catalogue()


def test_every_attack_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(entry.name for entry in ENTRIES).items() if count > 1] == []


def test_every_family_is_known_and_has_attacks() -> None:
    assert {path.name for path in AGENTS.iterdir()} <= set(FAMILIES)
    assert {entry.family for entry in ENTRIES} <= set(FAMILIES)


def test_every_folder_is_an_attack() -> None:
    folders = {path.name for path in AGENTS.glob("*/*") if path.is_dir()}

    assert folders == {path.parent.name for path in AGENTS.glob("*/*/expect.yml")}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_attack_says_in_one_sentence_what_it_tries(entry: CatalogueEntry) -> None:
    assert entry.tries.endswith((".", "!", "?"))
    assert 10 < len(entry.tries) <= 200
    assert entry.name.replace("_", "").isalnum()
    assert entry.outcome


def test_a_mark_that_lacks_something_is_an_error() -> None:
    call = ast.parse('pytest.mark.attack("x", family="supply")', mode="eval").body
    assert isinstance(call, ast.Call)

    with pytest.raises(CatalogueError, match=r"test_catalogue\.py:1: write attack"):
        _marked(call, AGENTS.parent / "test_catalogue.py")


def test_the_first_sentence_ends_at_its_full_stop() -> None:
    assert first_sentence('"""Reads a file\nof ours. Then more."""') == "Reads a file of ours."


def test_there_are_at_least_two_hundred() -> None:
    assert len(ENTRIES) >= 200


def test_the_page_lists_the_attacks_of_the_catalogue_and_what_came_of_them() -> None:
    """Where this fails after an attack was added: python -m tests.hostile.report --missing."""
    page, outcomes = report.PAGE.read_text(), json.loads(report.OUTCOMES.read_text())

    assert re.findall(r"^\| `(\w+)` ", page, re.MULTILINE) == [entry.name for entry in ENTRIES]
    assert page == report.page_of(outcomes, ENTRIES)
    assert re.search(r"20\d\d-\d\d-\d\d, Linux [\d.]+ on \w+, Docker [\d.]+\S*, runc [\d.]+\S*, runsc \S+\.", page)


def test_no_attack_on_the_page_got_through_and_every_agents_attack_was_tried() -> None:
    results = {name: one["results"] for name, one in json.loads(report.OUTCOMES.read_text())["outcomes"].items()}

    assert {name for name, one in results.items() if report.FAILED in one.values()} == set()
    agents = {entry.name for entry in ENTRIES if not entry.place.endswith(".py")}
    assert {name for name in agents if not {"docker", "gvisor"} <= results.get(name, {}).keys()} == set()
