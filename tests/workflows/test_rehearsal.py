"""`pullrank rehearse` on a board whose workflows really run: what it pushes and merges triggers them.

Two rehearsals on one board: the first in one go from a branch, the second from a fork, stopped after every step.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.docker.engine import Engine
from evaluator.host.loading.yaml_loader import parse_moderation
from evaluator.model.records.result import Result
from tests.github.world import BOT, NAME, OWNER
from tests.workflows.board import LEANS, agent, lay_out
from tests.workflows.engine import Expressions
from tests.workflows.forge import Forge
from tests.workflows.rehearsing import FORK_OWNER, SITE, Branches, Host, KilledError, settle, step, with_fork

pytestmark = pytest.mark.docker
STEPS = [
    "pull request", "preview begins", "preview ends", "comment", "status", "merge", "official run begins",
    "official run ends", "results branch", "site", "final comment", "withdrawal", "merge the withdrawal",
    "last official run begins", "last official run ends", "site again", "results branch again", "last comment", "branches",
]  # fmt: skip


class RehearsalForge(Forge):
    """A forge whose pull requests and merges come by the API."""

    branches: Branches

    def pump(self) -> None:
        """The events of what was asked by the API."""
        while self.branches.waiting:
            kind, number, before, sha = self.branches.waiting.pop(0)
            self.world.left["core"] = 1000
            if kind == "opened":
                self._pull_event(self.world.pulls[number], "opened")
            else:
                self.pushed(before, sha)

    def fetch(self, address: str, cap: int) -> tuple[int, bytes]:
        """A page of the deployed site, as GitHub Pages serves it."""
        assert address.startswith(SITE)
        path = address.removeprefix(SITE).partition("?")[0]
        file = self.actions.deployed[-1] / path if self.actions.deployed else Path("nowhere")
        return (200, file.read_bytes()) if file.is_file() else (404, b"<html>")


@pytest.fixture(scope="module")
def forge(expressions: Expressions, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RehearsalForge]:
    place = tmp_path_factory.mktemp("rehearsal")
    base = {"BASE_IMAGE": os.environ["BASE_IMAGE"]} if "BASE_IMAGE" in os.environ else {}
    files = lay_out(place / "files")
    for path, text in agent("alice", "pole", LEANS).items():
        (files / path).parent.mkdir(parents=True, exist_ok=True)
        (files / path).write_text(text or "")
    made = RehearsalForge(place, files, expressions, base)
    made.branches = settle(made.world, made.remote, place)
    made.world.person("alice", 11)
    yield made
    made.close()
    assert made.stand_in.violations == []


@pytest.fixture(scope="module")
def host(forge: RehearsalForge) -> Host:
    return Host(forge.stand_in, forge.pump, forge.fetch)


def records(forge: Forge) -> dict[str, Result]:
    paths = [path for path in forge.remote.paths("refs/heads/results") if "/rehearsal/" in path]
    tip = forge.remote.tip("refs/heads/results")
    return {path: Result.model_validate(json.loads(forge.remote.show(tip, path))) for path in paths}


def document(forge: RehearsalForge, path: str) -> dict[str, Any]:
    return dict(json.loads(forge.page(f"api/{path}.json")))


def standing(forge: RehearsalForge) -> list[str]:
    rows = document(forge, "tasks/CartPole-v1/leaderboard")["rows"]
    return [f"{row['login']}/{row['agent']}" for row in rows]


def test_1_a_rehearsal_from_a_branch_sees_every_step_and_leaves_no_entry(forge: RehearsalForge, host: Host) -> None:
    seen: list[list[str]] = []
    host.kill_after = lambda name: bool(name == "site" and seen.append(standing(forge)))

    assert host.calls() == 0

    assert host.steps() == STEPS
    assert sorted(seen[0]) == ["alice/pole", "host/rehearsal"]  # While it stands it is on the board, and it says so.
    assert "may take a place from others" in host.asked[0]
    assert len(host.asked) == 1
    assert "The fork's path stays unproven" in host.lines[-1]
    assert standing(forge) == ["alice/pole"]
    assert not [path for path in forge.remote.paths("refs/heads/main") if path.startswith("submissions/host/")]


def test_2_the_record_stays_as_it_was_and_is_marked(forge: RehearsalForge, host: Host) -> None:
    ((path, result),) = records(forge).items()
    mark = parse_moderation(forge.remote.show(forge.remote.tip(), "moderation.yml").encode())

    assert mark.rehearsed_digests("host", "rehearsal") == {result.submission_digest}
    assert result.self_sha256 == result.self_hash()
    assert [line for line in host.lines if path in line]
    page = document(forge, "agents/host/rehearsal")
    assert (page["state"], page["rehearsal"]) == ("withdrawn", True)
    assert "a rehearsal" in forge.page("ledger/index.html")
    assert "A rehearsal" in forge.page("agents/host/rehearsal/index.html")


def test_3_nothing_of_it_is_left_but_two_pull_requests_that_say_what_they_were(forge: RehearsalForge) -> None:
    entering, leaving = (pull for pull in forge.world.pulls.values() if pull.author == OWNER)

    assert (entering.merged, leaving.merged) == (True, True)
    assert [forge.remote.tip(f"refs/heads/{pull.branch}") for pull in (entering, leaving)] == ["", ""]
    report = forge.world.said(entering.number)[-1]
    assert all(f"| {name} |" in report for name in STEPS)
    assert [one.author for one in forge.world.comments.values() if one.number == entering.number] == [BOT, OWNER]
    assert "🪦 Withdrawn" in forge.comments(leaving.number)[0]


def test_4_from_a_fork_squashed_and_stopped_after_every_step_it_goes_on_from_there(
    forge: RehearsalForge, host: Host
) -> None:
    forge.world.settings[""] |= {"allow_merge_commit": False}
    with_fork(forge.world, forge.branches)
    host.lines.clear()
    before = len(forge.world.pulls)
    done: list[str] = []
    host.kill_after = lambda name: name not in done and not done.append(name)
    stops = 0
    while True:
        try:
            assert host.calls(fork=FORK_OWNER) == 0
            break
        except KilledError:
            stops += 1

    assert done == STEPS
    assert stops == len(STEPS)
    entering, leaving = list(forge.world.pulls.values())[before:]
    assert (entering.fork_owner, leaving.fork_owner) == (FORK_OWNER, OWNER)
    assert "unproven" not in host.lines[-1]
    assert len(records(forge)) == 2
    mark = parse_moderation(forge.remote.show(forge.remote.tip(), "moderation.yml").encode())
    assert mark.rehearsed_digests("host", "rehearsal") == {one.submission_digest for one in records(forge).values()}
    assert standing(forge) == ["alice/pole"]
    assert f"https://github.com/{OWNER}/{NAME}/pull/{entering.number}" in host.lines[0]
    assert forge.branches.sources[FORK_OWNER].exists()
    assert step(host.lines[-2]) == "branches"
