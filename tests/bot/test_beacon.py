"""The beacon is the oldest first-parent commit of main that holds a version; whole history or nothing."""

from pathlib import Path

import pytest

from evaluator.model.challenge import Challenge
from scripts.bot.beacon import Beacon, beacon, beacons, verify
from scripts.bot.entries import read_entries
from scripts.bot.git import Repository
from scripts.console import CommandError
from tests.bot.repos import AGENT, MANIFEST, Clone, agent_files, git, make_board

RULES = Challenge.model_validate({"title": "Test", "season": "1", "tasks": [{"id": "CartPole-v1"}]})


@pytest.fixture
def board(tmp_path: Path) -> Clone:
    return make_board(tmp_path)


def digest(board: Clone, login: str = "alice") -> str:
    return next(entry.digest for entry in read_entries(board.repository, board.head, RULES)[0] if entry.login == login)


def found(board: Clone, login: str = "alice") -> str:
    """Both ways to ask give the same."""
    name, version = (login, "a"), digest(board, login)
    one = beacon(board.repository, board.head, login, "a", version)
    assert beacons(board.repository, board.head, {name: version})[name] == one
    return one.sha


def test_the_commit_that_brought_it_is_the_beacon_whatever_came_later(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    board.commit({"README.md": b"later\n"})
    board.commit(agent_files("bob"))

    assert found(board) == first


def test_another_version_has_another_beacon_and_going_back_the_first_again(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    second = board.commit(agent_files("alice", source=AGENT + b"# 2\n"))
    assert found(board) == second
    board.commit(agent_files("alice"))

    assert found(board) == first


def test_other_words_in_the_manifest_keep_the_beacon(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    board.commit(agent_files("alice", manifest=MANIFEST + b"description: better words\n"))

    assert found(board) == first


def test_withdrawn_and_entered_again_keeps_the_beacon(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    board.commit(dict.fromkeys(agent_files("alice")))
    board.commit(agent_files("alice"))

    assert found(board) == first


def test_a_merge_commit_is_the_beacon_not_the_authors_own_commits(board: Clone) -> None:
    """Whoever could choose the id of his commit could choose his seeds."""
    main = board.head
    own = board.commit(agent_files("alice"))
    merge = board.commit(agent_files("alice"), "merge", (main, own))

    assert found(board) == merge


def test_other_folders_with_odd_names_do_not_pass_for_commits(board: Clone) -> None:
    first = board.commit(agent_files("alice"))
    board.commit({f"submissions/bob/a/{'0' * 40} 2020-01-01T00:00:00Z": b"", "submissions/bob/a/x\n\ny": b""})
    board.commit({f"submissions/alice/{'1' * 40} 2020": b""})

    assert found(board) == first


def test_a_version_that_main_does_not_hold_has_none(board: Clone) -> None:
    board.commit(agent_files("alice"))

    with pytest.raises(CommandError, match="no commit of main holds"):
        beacon(board.repository, board.head, "alice", "a", "0" * 64)
    with pytest.raises(CommandError, match="no commit of main holds"):
        beacons(board.repository, board.head, {("carol", "a"): "0" * 64})


def test_a_shallow_clone_is_refused(board: Clone, tmp_path: Path) -> None:
    board.commit(agent_files("alice"))
    board.push()
    origin = (tmp_path / "origin.git").as_uri()
    git(tmp_path, "clone", "-q", "--depth", "1", origin, "shallow")
    shallow = Repository(tmp_path / "shallow")

    assert shallow.is_shallow()
    with pytest.raises(CommandError, match="fetch-depth: 0"):
        beacon(shallow, board.head, "alice", "a", digest(board))


def test_github_is_asked_once_for_each_commit() -> None:
    asked: list[str] = []

    def verified(sha: str) -> bool:
        asked.append(sha)
        return sha == "a"

    told = verify([Beacon(sha=sha, committed_at="") for sha in "aba"], verified)

    assert sorted(asked) == ["a", "b"]
    assert {sha: item.verified for sha, item in told.items()} == {"a": True, "b": False}
