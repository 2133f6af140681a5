"""The note that nothing is missing: believed of the same commits and evaluator on the same day, and of nothing else."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from scripts.git.data_branches import BranchCommit, open_branches, read_note, results_commit
from scripts.github.official import plan_shards
from scripts.github.official.round_work import (
    PLANNED_BRANCH,
    NothingMissing,
    OfficialRun,
    note_nothing_missing,
    read_round_work,
)
from scripts.github.workflow.plan_context import PlanContext
from scripts.repository.layout import RESULTS_BRANCH
from tests.scripts.github.remotes import AGENT, CHALLENGE, Clone, agent_files, git, make_board
from tests.scripts.github.rounds import open_run, whole_round

DIGEST = "d" * 64
TEAMS = CHALLENGE + b"phases:\n  - {id: one, name: One, tasks: [CartPole-v1], teams: [club/members]}\n"


@pytest.fixture
def board(tmp_path: Path) -> Clone:
    """A board on which all is recorded, and noted."""
    made = make_board(tmp_path / "board")
    made.commit(agent_files("alice"))
    made.push()
    assert len(whole_round(made, tmp_path / "round").recorded) == 2
    assert not plan_shards.is_more_wanted(open_run(made), open_run(made).plan_context.now)
    return made


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading the board whole fails."""

    def fail(*_: object) -> None:
        raise AssertionError("everything was read")

    monkeypatch.setattr(plan_shards, "read_round_work", fail)


def is_believed(run: OfficialRun) -> bool:
    """Whether a plan does without reading the board, as `unread` has it."""
    try:
        planned = plan_shards.plan_shards(run)
    except AssertionError:
        return False
    assert (planned.count, planned.left, planned.unasked, planned.shards) == (0, 0, 0, ())
    return True


def later(run: OfficialRun, **since: int) -> OfficialRun:
    return replace(run, plan_context=PlanContext(now=run.plan_context.now + timedelta(**since)))


def replace_content(run: OfficialRun, content: bytes) -> None:
    with open_branches(run.clone, "") as branches:
        change = BranchCommit(message="change", files=(("planned.json", content),))
        commit = branches.build(None, change, run.plan_context.now)
        branches.repository.run("push", "origin", f"+{commit}:refs/heads/{PLANNED_BRANCH}")


def rewrite(board: Clone, **fields: Any) -> None:
    """Change the note."""
    run = open_run(board)
    note = read_note(run.clone, PLANNED_BRANCH, NothingMissing, "")
    assert note
    replace_content(run, json.dumps(note.model_dump(mode="json") | fields).encode())


def test_an_idle_board_is_planned_without_reading_it(board: Clone, unread: None) -> None:
    run = open_run(board)
    planned = plan_shards.plan_shards(run)

    assert (planned.count, planned.left, planned.unasked, planned.deferred, planned.shards) == (0, 0, 0, (), ())
    assert planned.sha == board.head
    assert planned.results_sha == results_commit(board.repository)


def test_its_plan_is_that_of_a_board_that_is_read(board: Clone) -> None:
    run = open_run(board)
    noted = plan_shards.plan_shards(run)
    git(board.path, "push", "-q", "origin", f":refs/heads/{PLANNED_BRANCH}")

    assert plan_shards.plan_shards(run) == noted


def test_the_next_day_all_is_read_again(board: Clone, unread: None) -> None:
    assert is_believed(open_run(board))
    assert not is_believed(later(open_run(board), days=1))
    assert not is_believed(later(open_run(board), days=-1))


def test_another_commit_of_main_is_planned(board: Clone, unread: None) -> None:
    board.commit({"README.md": b"changed"})

    assert not is_believed(open_run(board))


def test_a_merge_is_planned_though_a_note_is_there(board: Clone) -> None:
    board.commit(agent_files("bob", source=AGENT + b"# bob\n"))

    assert plan_shards.plan_shards(open_run(board)).count == 2


def test_another_commit_of_the_results_is_planned(board: Clone) -> None:
    """Somebody removed a result."""
    other = Clone(board.path.parent / "other")
    origin = git(board.path, "remote", "get-url", "origin")
    git(board.path.parent, "clone", "-q", "-b", RESULTS_BRANCH, origin, str(other.path))
    other.commit({git(other.path, "ls-tree", "-r", "--name-only", "HEAD").splitlines()[0]: None})
    other.push(RESULTS_BRANCH)

    assert plan_shards.plan_shards(open_run(board)).count == 1


def test_another_evaluator_is_planned(board: Clone) -> None:
    assert plan_shards.plan_shards(replace(open_run(board), runtime_digest=DIGEST)).count == 2


@pytest.mark.parametrize(
    "fields", [{"form": 2}, {"more": 1}, {"main": "0" * 40}, {"results": None}, {"runtime": DIGEST}, {"day": "2020-01-01"}]
)
def test_a_changed_note_is_not_believed(board: Clone, unread: None, fields: dict[str, Any]) -> None:
    rewrite(board, **fields)

    assert not is_believed(open_run(board))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"form":1,"form":1}', b"\xff"])
def test_what_is_no_note_is_not_believed(board: Clone, unread: None, content: bytes) -> None:
    run = open_run(board)
    replace_content(run, content)

    assert not is_believed(run)


def test_nothing_is_noted_while_something_is_wanted(board: Clone) -> None:
    board.commit(agent_files("bob", source=AGENT + b"# bob\n"))
    run = open_run(board)
    before = git(board.path, "ls-remote", "origin", PLANNED_BRANCH)

    assert plan_shards.is_more_wanted(run, run.plan_context.now)
    assert git(board.path, "ls-remote", "origin", PLANNED_BRANCH) == before


@pytest.mark.parametrize("field", ["deferred", "unchecked_commits"])
def test_nothing_is_noted_while_something_waits(board: Clone, field: str) -> None:
    run, results = open_run(board), results_commit(board.repository)
    work = read_round_work(run, board.head, results)
    waiting: dict[str, Any] = (
        {"deferred": ("something",)} if field == "deferred" else {"unchecked_commits": {"path": (board.head,)}}
    )

    assert note_nothing_missing(run, work, results, run.plan_context.now)
    assert not note_nothing_missing(run, replace(work, **waiting), results, run.plan_context.now)


def test_where_members_of_teams_count_nothing_is_noted_or_believed(board: Clone, unread: None) -> None:
    board.commit({"challenge.yml": TEAMS})
    run, results = open_run(board), results_commit(board.repository)
    work = read_round_work(replace(run, is_member=lambda *_: True), board.head, results)
    idle = replace(work, items=(), deferred=(), unchecked_commits={})

    assert not note_nothing_missing(run, idle, results, run.plan_context.now)
    rewrite(board, main=board.head)
    assert not is_believed(run)


def test_a_branch_that_may_not_be_written_fails_nothing(board: Clone, capsys: pytest.CaptureFixture[str]) -> None:
    run = open_run(board)
    hook = Path(git(board.path, "remote", "get-url", "origin")) / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)

    # Within one second it would be the same commit, and nothing would be pushed.
    assert not plan_shards.is_more_wanted(run, run.plan_context.now + timedelta(seconds=2))
    assert f"The branch {PLANNED_BRANCH} was not written" in capsys.readouterr().err
