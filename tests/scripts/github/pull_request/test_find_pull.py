"""From a run to its pull request: only by what GitHub's servers wrote, and rather to nobody than to a stranger's victim."""

import dataclasses
from typing import Any

import pytest

from scripts.github.api.responses import PullRequest, WorkflowRun
from scripts.github.pull_request.find_pull import NoPull, find_pull

BOARD, FORK = 1, 2
SHA, NEWER = "a" * 40, "b" * 40
RUN = WorkflowRun(
    id=7, event="pull_request", path=".github/workflows/preview.yml", repository_id=BOARD, head_repository_id=FORK,
    head_owner="alice", head_branch="patch", head_sha=SHA, html_url="https://example.org/7", conclusion="success",
)  # fmt: skip
PULL = PullRequest(
    number=3, author="alice", author_id=11, head_sha=SHA, head_repository_id=FORK, base_repository_id=BOARD,
    base_ref="main", state="open", merged=False,
)  # fmt: skip


def run(**fields: Any) -> WorkflowRun:
    return dataclasses.replace(RUN, **fields)


def pull(**fields: Any) -> PullRequest:
    return dataclasses.replace(PULL, **fields)


def test_the_one_that_fits_is_found_among_others() -> None:
    others = [pull(number=1, head_repository_id=9), pull(number=2, base_repository_id=9), pull(number=4, state="closed")]

    assert find_pull(RUN, [*others, PULL], BOARD) == PULL


def test_a_path_with_a_ref_is_the_same_workflow() -> None:
    assert find_pull(run(path=".github/workflows/preview.yml@refs/pull/3/merge"), [PULL], BOARD) == PULL


def test_a_branch_of_the_board_itself_is_served_like_a_fork() -> None:
    assert find_pull(run(head_repository_id=BOARD), [pull(head_repository_id=BOARD)], BOARD) == pull(
        head_repository_id=BOARD
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"repository_id": 9}, "another repository"),
        ({"event": "push"}, "'push'"),
        ({"event": "workflow_dispatch"}, "not by a pull request"),
        ({"event": "pull_request_target"}, "not by a pull request"),
        ({"path": ".github/workflows/copy.yml"}, "another workflow"),
        ({"path": ".github/workflows/preview.yml.yml"}, "another workflow"),
        ({"path": "preview.yml"}, "another workflow"),
        ({"head_repository_id": None}, "deleted"),
    ],
)
def test_a_run_of_the_wrong_kind_speaks_for_nobody(fields: dict[str, Any], reason: str) -> None:
    match = find_pull(run(**fields), [PULL, pull(head_repository_id=None)], BOARD)

    assert isinstance(match, NoPull)
    assert reason in match.words


@pytest.mark.parametrize(
    ("candidates", "reason"),
    [
        ([], "no pull request"),
        ([pull(head_repository_id=9)], "no pull request"),
        ([pull(head_repository_id=None)], "no pull request"),
        ([pull(base_repository_id=9)], "no pull request"),
        ([pull(head_sha=NEWER)], "newer commit"),
        ([pull(base_ref="old")], "not into main"),
        ([pull(state="closed")], "closed"),
        ([pull(state="closed", merged=True)], "closed"),
        ([PULL, pull(number=4)], "more than one"),
        ([pull(head_sha=NEWER), pull(number=4, base_ref="old")], "not into main"),
    ],
)
def test_a_pull_request_that_does_not_fit_is_not_written_to(candidates: list[PullRequest], reason: str) -> None:
    match = find_pull(RUN, candidates, BOARD)

    assert isinstance(match, NoPull)
    assert reason in match.words


def test_an_old_branch_does_not_hide_the_true_one() -> None:
    assert find_pull(RUN, [pull(number=4, base_ref="old"), PULL], BOARD) == PULL
