"""`pullrank demo` where somebody edits the board while it runs."""

from pathlib import Path

import pytest

from scripts.commands import demo
from scripts.repository.checkout import Checkout, open_checkout
from tests.scripts.checkouts import game_board


def test_the_site_shows_what_was_edited_since_the_demo_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game_board(tmp_path)
    begun = open_checkout(tmp_path)
    assert begun.challenge.description != "New words."
    rules = tmp_path / "challenge.yml"
    rules.write_text(f"{rules.read_text()}\ndescription: New words.\n")
    shown: list[str] = []

    def build(checkout: Checkout, *, official: bool) -> None:
        assert not official
        shown.append(checkout.challenge.description)

    monkeypatch.setattr(demo, "build", build)
    demo._build_site(begun)

    # Otherwise the next demo would call the site current, which shows the old words.
    assert shown == ["New words."]
