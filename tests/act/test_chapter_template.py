"""A fresh copy of the template, run by act: nothing runs, and summaries say what to do, until `pullrank init` was pushed."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.act.board import BALANCES, entry
from tests.act.forge import ActForge
from tests.act.seen import places, recorded, run_of
from tests.workflows.files import ROOT
from tests.workflows.remote import git

pytestmark = [pytest.mark.docker, pytest.mark.act]
BRANCHES = ("results", "traces-2026", "episodes")


@pytest.fixture(scope="module")
def forge(weekly: None, open_forge: Callable[..., ActForge]) -> Iterator[ActForge]:
    made = open_forge("template", (ROOT / "challenge.yml").read_text(encoding="utf-8"), private=True)
    made.remote.change_main(entry("origin", "pole", BALANCES, ("CartPole-v1",)), "An agent of the origin's")
    return made


def test_1_the_first_push_of_a_copy_starts_workflows_that_do_nothing(forge: ActForge) -> None:
    sha = forge.remote.tip()
    every = git(forge.remote.bare, "ls-tree", "-r", "--name-only", sha).splitlines()
    forge.deliver("push", {"ref": "refs/heads/main", "before": "0" * 40, "after": sha}, every)
    forge.tick()

    assert {name for name, _ in forge.runs} >= {"official", "site", "image", "ci", "reconcile"}
    for name, run in forge.runs:
        assert run.conclusion == "success", f"{name}: {run.log()}"
        summaries = [job.summary for job in run.jobs.values() if job.result != "skipped"]
        assert summaries
        assert all("## Nothing was run" in one and "--repository host/board" in one for one in summaries), name
        assert all("pullrank init --title" in one for one in summaries)
    assert [branch for branch in BRANCHES if forge.remote.tip(f"refs/heads/{branch}")] == []
    assert forge.actions.deployed == []
    assert forge.world.statuses == []
    assert {request.is_push for request in forge.server.requests} == {False}


def test_2_after_init_was_pushed_the_board_is_played_and_shown(forge: ActForge, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--branch", "main", forge.remote.url, "copy")
    words = ["--title", "Balance", "--owner", "host", "--repository", "host/board", "--task", "CartPole-v1"]
    subprocess.run([Path(sys.executable).with_name("pullrank"), "init", *words], cwd=tmp_path / "copy", check=True)
    git(tmp_path / "copy", "commit", "--quiet", "--all", "--message", "Make it our board")
    git(tmp_path / "copy", "push", "--quiet", "origin", "HEAD:main")
    # Its tests are these very ones.
    forge.left_out.add(".github/workflows/ci.yml")
    count = len(forge.runs)
    forge.pushed(git(tmp_path / "copy", "rev-parse", "HEAD^"), forge.remote.tip())

    assert "official" in {name for name, _ in forge.runs[count:]}
    run_of(forge, "official")
    assert not any("Nothing was run" in job.summary for _, run in forge.runs[count:] for job in run.jobs.values())
    assert recorded(forge)
    assert {task for task, _ in recorded(forge)} == {"CartPole-v1"}
    assert {name.partition("/")[0] for _, name in recorded(forge)} == {"local"}
    assert sorted(places(forge, "CartPole-v1")) == sorted(name for _, name in recorded(forge))
    assert "Balance" in forge.page("index.html")
    assert "origin" not in forge.page("tasks/CartPole-v1/index.html")
