"""A public repository, run by act: everybody reads without a token, nobody writes without one, and files are attested."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.act.board import BALANCES, entry
from tests.act.forge import ActForge
from tests.act.seen import only_comment, places, recorded, run_of
from tests.github.world import BOT
from tests.workflows.remote import git

pytestmark = [pytest.mark.docker, pytest.mark.act]


@pytest.fixture(scope="module")
def forge(weekly: None, open_forge: Callable[..., ActForge]) -> Iterator[ActForge]:
    made = open_forge("public", private=False)
    made.world.person("bob", 12)
    return made


def test_a_merge_is_recorded_attested_shown_and_told(forge: ActForge, tmp_path: Path) -> None:
    number = forge.open("bob", entry("bob", "balance", BALANCES, ("CartPole-v1",)))
    forge.merge(number)

    run = run_of(forge, "official")
    assert recorded(forge) == [("CartPole-v1", "bob/balance")]
    assert places(forge, "CartPole-v1") == ["bob/balance"]
    assert "official" in only_comment(forge, number).casefold()
    (path,) = forge.remote.paths("refs/heads/results")
    attested = [step for job in run.jobs.values() for step in job.steps if path in step.log and "STUB attest" in step.log]
    assert [step.outcome for step in attested] == ["success"]


def test_everybody_reads_and_only_the_bot_writes(forge: ActForge, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--branch", "results", f"{forge.server.address}/host/board", "clone")
    assert len(list((tmp_path / "clone").rglob("*.json"))) == 1

    served = [request for request in forge.server.requests if request.status < 300]
    assert {request.login for request in served if request.is_push} == {BOT}
    assert None in {request.login for request in served}
