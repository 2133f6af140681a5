"""The catalogue of attacks is complete and says of each what it tries."""

import ast
from collections import Counter

import pytest

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
