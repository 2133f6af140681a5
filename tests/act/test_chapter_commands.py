"""Commands in comments, run by act: /rank, /retry after a failure of ours, /evaluate by a maintainer; then a merge queue."""

from collections.abc import Callable, Iterator

import pytest

from tests.act.board import FOLLOWS, entry
from tests.act.forge import ActForge
from tests.act.seen import labels, only_comment, recorded, run_of
from tests.github.world import BOT

pytestmark = [pytest.mark.docker, pytest.mark.act]
NUMBERS: dict[str, int] = {}


@pytest.fixture(scope="module")
def forge(weekly: None, open_forge: Callable[..., ActForge]) -> Iterator[ActForge]:
    made = open_forge("commands", private=True)
    made.world.person("alice", 11)
    made.world.person("eve", 66)
    made.world.person("maintainer", 99)
    made.world.permissions["maintainer"] = "write"
    return made


def reactions(forge: ActForge) -> list[str]:
    """What the bot answered the newest comment of a person with."""
    newest = max((one for one in forge.world.comments.values() if not one.author.endswith("[bot]")), key=lambda one: one.id)
    return newest.reactions


def test_1_a_preview_that_we_lost_says_so(forge: ActForge) -> None:
    forge.runner.dies = ("bot preview", "--head _head")
    number = NUMBERS["alice"] = forge.open("alice", entry("alice", "follows", FOLLOWS, ("CartPole-v1",)))
    forge.runner.dies = ()

    run_of(forge, "preview", lost={"preview"})
    assert len(forge.runner.killed) == 1
    assert "| CartPole |" not in only_comment(forge, number)
    assert "preview-ok" not in labels(forge, number)


def test_2_a_stranger_cannot_retry_it(forge: ActForge) -> None:
    before = len(forge.runs)
    forge.say(NUMBERS["alice"], "eve", "/retry")

    run_of(forge, "commands")
    assert reactions(forge) == ["-1"]
    assert [name for name, _ in forge.runs[before:]] == ["commands"]


def test_3_its_author_can_and_the_score_is_told(forge: ActForge) -> None:
    forge.say(NUMBERS["alice"], "alice", "/retry")

    assert reactions(forge) == ["rocket"]
    run_of(forge, "preview")
    assert "| **1** of 1 | 1 |" in only_comment(forge, NUMBERS["alice"])
    assert labels(forge, NUMBERS["alice"]) == {"preview-ok"}


def test_4_rank_says_that_nothing_is_on_the_board_yet(forge: ActForge) -> None:
    before = set(forge.comments(NUMBERS["alice"]))
    forge.say(NUMBERS["alice"], "alice", "/rank")

    run_of(forge, "commands")
    (answer,) = set(forge.comments(NUMBERS["alice"])) - before
    assert "You have no agent on the leaderboard yet" in answer
    assert reactions(forge) == ["+1"]


def test_5_only_a_maintainer_has_a_commit_evaluated(forge: ActForge) -> None:
    sha = forge.world.pulls[NUMBERS["alice"]].head_sha
    forge.say(NUMBERS["alice"], "alice", f"/evaluate {sha}")
    assert reactions(forge) == ["-1"]
    assert not [name for name, _ in forge.runs if name == "evaluate"]

    forge.say(NUMBERS["alice"], "maintainer", f"/evaluate {sha}")
    assert reactions(forge) == ["rocket"]
    run_of(forge, "evaluate")
    assert [body for body in forge.comments(NUMBERS["alice"]) if sha[:7] in body and "| CartPole |" in body]
    assert recorded(forge) == []


def test_6_a_merge_queues_commit_is_told_what_the_pull_request_was_told(forge: ActForge) -> None:
    sha = forge.enqueue(NUMBERS["alice"])

    run_of(forge, "queue")
    statuses = [(one["state"], one["creator"]) for one in forge.world.statuses if one["sha"] == sha]
    assert statuses == [("success", BOT)]
    assert recorded(forge) == []
