"""When versions came to main, by its history, and who is kept out by it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from leaderboard.planning.admission_rules import refused_entries
from scripts.git.main_entries import read_entries
from scripts.repository.checkout import Checkout
from scripts.standings.admission_context import admission_context
from tests.scripts.github.remotes import AGENT, MANIFEST, Clone, agent_files, make_board

NAMING = MANIFEST + b'authors: ["@Carol"]\n'
ONE_TEAM_EACH = b"title: Test\nseason: '1'\ntasks: [{id: CartPole-v1}]\npeople: {one_team_each: true}\n"


def left_out(board: Clone) -> list[str]:
    """Owners whose agents on main are not evaluated."""
    checkout = Checkout(board.path)
    entries, _ = read_entries(board.repository, board.head, checkout.challenge)
    refused = refused_entries(checkout.challenge, entries, admission_context(checkout, entries, datetime.now(UTC)))
    return sorted({name.login for name, _ in refused})


@pytest.mark.attack(
    "team_theft_after_the_fact", family="people", outcome="the thief's entry is left out",
    tries="Names a rival's member as its own, to keep out the rival's next version.",
)  # fmt: skip
def test_who_names_a_rivals_member_later_does_not_keep_out_the_rivals_next_version(tmp_path: Path) -> None:
    board = make_board(tmp_path)
    (board.path / "challenge.yml").write_bytes(ONE_TEAM_EACH)
    board.commit(agent_files("alice", manifest=NAMING), at="@1767225600 +0000")
    board.commit(agent_files("mallory", source=AGENT + b"# m\n", manifest=NAMING), at="@1767312000 +0000")
    assert left_out(board) == ["mallory"]
    board.commit(agent_files("alice", source=AGENT + b"# 2\n", manifest=NAMING), at="@1767398400 +0000")
    assert left_out(board) == ["mallory"]

    board.commit(agent_files("alice", source=AGENT + b"# 3\n"), at="@1767484800 +0000")
    assert left_out(board) == []
    board.commit(agent_files("alice", source=AGENT + b"# 4\n", manifest=NAMING), at="@1767571200 +0000")
    assert left_out(board) == ["alice"]
