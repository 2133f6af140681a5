"""Pull requests by the history of main."""

from pathlib import Path

import pytest

from scripts.bot.pulls import pulls
from tests.bot.repos import AGENT, Clone, make_board


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return make_board(tmp_path)


def folder(login: str, agent: str, content: bytes = AGENT) -> dict[str, bytes | None]:
    return {f"submissions/{login}/{agent}/agent.py": content}


def test_a_squash_and_a_merge_name_their_pull_request(clone: Clone) -> None:
    first = clone.commit(folder("alice", "one"), "Add one (#1) (#7)")
    side = clone.commit(folder("Bob", "two"), "work", parents=(first,))
    clone.switch(first)
    clone.commit(folder("Bob", "two"), "Merge pull request #8 from Bob/(#99)", parents=(first, side))

    assert pulls(clone.path) == {("alice", "one"): 7, ("bob", "two"): 8}


def test_the_newest_change_counts_and_one_without_a_pull_request_hides_the_older(clone: Clone) -> None:
    clone.commit(folder("alice", "one"), "Add (#7)")
    clone.commit(folder("carol", "three"), "Add (#8)")
    clone.commit(folder("alice", "one", b"x = 1\n"), "Better (#9)")
    clone.commit(folder("carol", "three", b"x = 1\n"), "Merge pull request #1000 from somebody/by-title")

    assert pulls(clone.path) == {("alice", "one"): 9}


def test_without_a_history_there_are_none(tmp_path) -> None:
    assert pulls(tmp_path) == {}
