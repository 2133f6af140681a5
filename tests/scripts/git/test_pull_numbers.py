"""Pull requests by the history of main, and by GitHub's word for it."""

import os
from pathlib import Path

import pytest

from scripts.commands import bot
from scripts.git.pull_numbers import PULLS_FILE, pull_numbers_by_agent, write_pull_numbers
from scripts.github.api.responses import PullRequest
from tests.scripts.github.remotes import AGENT, Clone, make_board
from tests.scripts.github.scenes import Scene


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return make_board(tmp_path)


def folder(login: str, agent: str, content: bytes = AGENT) -> dict[str, bytes | None]:
    return {f"submissions/{login}/{agent}/agent.py": content}


def merge(clone: Clone, files: dict[str, bytes | None], subject: str) -> str:
    """A commit of two parents with that subject."""
    first = clone.head
    side = clone.commit(files, "work")
    clone.switch(first)
    return clone.commit(files, subject, parents=(first, side))


def merged_pull(sha: str, number: int, author: str) -> PullRequest:
    return PullRequest(
        number=number, author=author, author_id=number, head_sha="b" * 40, head_repository_id=1, base_repository_id=1,
        base_ref="main", state="closed", merged=True, labels=(), mergeable=None, merge_commit_sha=sha, head_branch="one",
        head_repository="alice/board", created_at="2026-01-01T00:00:00Z",
    )  # fmt: skip


def test_a_merge_names_its_pull_request(clone: Clone) -> None:
    merge(clone, folder("Bob", "two"), "Merge pull request #8 from Bob/(#99)")

    assert pull_numbers_by_agent(clone.path) == {("bob", "two"): 8}


def test_a_number_in_the_subject_of_a_single_commit_is_not_believed(clone: Clone) -> None:
    """A rebase merge keeps the subject that the author typed."""
    clone.commit(folder("alice", "one"), "Add one (#1)")
    clone.commit(folder("carol", "three"), "Merge pull request #1000 from somebody/by-title")

    assert pull_numbers_by_agent(clone.path) == {}


def test_the_newest_change_counts_and_one_without_a_pull_request_hides_the_older(clone: Clone) -> None:
    merge(clone, folder("alice", "one"), "Merge pull request #7 from alice/one")
    merge(clone, folder("carol", "three"), "Merge pull request #8 from carol/three")
    merge(clone, folder("alice", "one", b"x = 1\n"), "Merge pull request #9 from alice/one")
    clone.commit(folder("carol", "three", b"x = 1\n"), "Better (#10)")

    assert pull_numbers_by_agent(clone.path) == {("alice", "one"): 9}


def test_without_a_history_there_are_none(tmp_path) -> None:
    assert pull_numbers_by_agent(tmp_path) == {}


def test_where_github_was_asked_its_word_counts_and_no_subject(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A squash is named by GitHub; a rebased commit says (#7), and a merge that somebody pushed says #7, too."""
    clone = scene.clone
    for number in (7, 8):
        scene.bring(number, source=b"x = %d\n" % number)
        pull = scene.world.pulls[number]
        pull.state, pull.merged = "closed", True
        pull.merge_commit_sha = clone.commit(folder("alice", f"a{number}"), f"My agent (#{number})")
    clone.commit(folder("eve", "rebased"), "Mine (#7)")
    merge(clone, folder("eve", "merged"), "Merge pull request #7 from eve/merged")
    clone.push()
    scene.bring(9)
    scene.world.pulls[9].merge_commit_sha = clone.head  # GitHub's trial merge of an open one
    for name, value in scene.environment().items():
        monkeypatch.setitem(os.environ, name, value)

    assert bot.pulls() == 0

    assert pull_numbers_by_agent(clone.path) == {("alice", "a7"): 7, ("alice", "a8"): 8}
    assert len(scene.standin.made()) == 1


@pytest.mark.attack(
    "pull_request_with_anothers_commit", family="bot", outcome="the owner's pull request is shown",
    tries="Opens a pull request with somebody's commit, which GitHub calls merged with his, to be linked on that page.",
)  # fmt: skip
@pytest.mark.parametrize("earlier", ["alice", "eve"])
def test_of_several_pull_requests_of_one_commit_the_owners_is_shown(clone: Clone, earlier: str) -> None:
    sha = merge(clone, {**folder("Alice", "one"), **folder("local", "two")}, "Merge pull request #7 from alice/one")
    pulls = [merged_pull(sha, number=7, author="alice"), merged_pull(sha, number=8, author="eve")]
    write_pull_numbers(clone.repository, sha, pulls if earlier == "alice" else pulls[::-1])

    assert pull_numbers_by_agent(clone.path) == {("alice", "one"): 7}


def test_a_commit_that_is_not_on_main_is_left_out_and_a_broken_note_is_none(clone: Clone) -> None:
    assert write_pull_numbers(clone.repository, clone.head, []) == 0
    merge(clone, folder("Bob", "two"), "Merge pull request #8 from Bob/two")
    assert pull_numbers_by_agent(clone.path) == {}
    (clone.path / PULLS_FILE).write_text("[1")

    assert pull_numbers_by_agent(clone.path) == {("bob", "two"): 8}
