"""The life of a private board, run by act from the workflow files as they are: one chapter follows from the one before it.

Stubs stand for attest and deploy-pages only (stubs/). Everything else is the actions' own code, git over HTTP that asks
for a token, and the container engine.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.act.board import BALANCES, FOLLOWS, TASKS, entry
from tests.act.forge import ActForge
from tests.act.seen import labels, only_comment, places, recorded, results, run_of
from tests.github.world import BOT

pytestmark = [pytest.mark.docker, pytest.mark.act]
NUMBERS: dict[str, int] = {}


@pytest.fixture(scope="module")
def forge(open_forge: Callable[..., ActForge]) -> Iterator[ActForge]:
    made = open_forge("story", private=True)
    made.world.person("alice", 11)
    made.world.person("bob", 12)
    return made


def test_1_a_forks_pull_request_gets_one_comment_with_score_and_rank(forge: ActForge) -> None:
    with forge.measured("submission"):
        number = NUMBERS["alice"] = forge.open("alice", entry("alice", "follows", FOLLOWS))

    run_of(forge, "preview")
    run_of(forge, "report")
    comment = only_comment(forge, number)
    assert "preview" in comment.casefold()
    for title in ("CartPole", "Mountain Car", "Acrobot"):
        assert title in comment
    assert comment.count("| **1** of 1 | 1 |") == 3
    assert labels(forge, number) == {"preview-ok"}
    assert recorded(forge) == []


def test_2_of_two_shards_one_dies_and_the_other_is_recorded(forge: ActForge) -> None:
    forge.runner.dies = ("bot evaluate", "--shard 1")
    forge.merge(NUMBERS["alice"])
    forge.runner.dies = ()

    # The next round began by itself, for something was recorded and something is still wanted.
    run = run_of(forge, "official", lost={"evaluate"}, newest=2)
    assert [job.result for job in run.shards["evaluate"]] == ["success", "failure"]
    assert len(forge.runner.killed) == 1
    # What came in was on the board at once, what did not was not: of three evaluations the dead shard had one.
    shown = [places(forge, task, site=-2) for task in TASKS]
    assert sorted(shown) == [[], ["alice/follows"], ["alice/follows"]]


def test_3_the_next_round_brings_what_was_lost(forge: ActForge) -> None:
    run = run_of(forge, "official")
    assert [job.result for job in run.shards["evaluate"]] == ["success"]
    assert recorded(forge) == sorted((task, "alice/follows") for task in TASKS)
    assert len(forge.remote.subjects("refs/heads/results")) == 2  # one for each round
    assert [places(forge, task) for task in TASKS] == [["alice/follows"]] * 3
    comment = only_comment(forge, NUMBERS["alice"])
    assert "official" in comment.casefold()
    assert comment.count("| **1** of 1 | 1 |") == 3


def test_4_a_merge_of_one_shard_is_recorded_shown_and_told(forge: ActForge) -> None:
    forge.on_hold = True  # merged before anybody let the preview run
    number = NUMBERS["bob"] = forge.open("bob", entry("bob", "balance", BALANCES, ("CartPole-v1",)))
    forge.on_hold = False
    before = results(forge)
    with forge.measured("merge"):
        forge.merge(number)

    run = run_of(forge, "official")
    assert [job.result for job in run.shards["evaluate"]] == ["success"]
    assert recorded(forge) == sorted([*((task, "alice/follows") for task in TASKS), ("CartPole-v1", "bob/balance")])
    after = results(forge)
    assert {key: after[key] for key in before} == before
    assert [len(after[f"{task} alice/follows"]["returns"]) for task in TASKS] == [5, 3, 3]
    # The better one stands first, on the deployed site as in its owner's comment.
    assert sum(after["CartPole-v1 bob/balance"]["returns"]) > sum(after["CartPole-v1 alice/follows"]["returns"])
    assert places(forge, "CartPole-v1") == ["bob/balance", "alice/follows"]
    assert "| **1** of 2 |" in only_comment(forge, number)
    assert "official" in labels(forge, number) & labels(forge, NUMBERS["alice"])


def test_5_a_quiet_hour_changes_nothing(forge: ActForge) -> None:
    refs = ("refs/heads/results", "refs/heads/traces-2026", "refs/heads/episodes", "refs/heads/deployed", "refs/heads/main")
    tips, comments = [forge.remote.tip(ref) for ref in refs], dict(forge.world.comments)
    assert all(tips)
    bodies, runs = {number: one.body for number, one in comments.items()}, len(forge.runs)
    with forge.measured("quiet hour"):
        forge.tick()

    assert [(name, list(run.jobs)) for name, run in forge.runs[runs:]] == [("reconcile", ["reconcile"])]
    assert run_of(forge, "reconcile").jobs["reconcile"].result == "success"
    assert [forge.remote.tip(ref) for ref in refs] == tips
    assert {number: one.body for number, one in forge.world.comments.items()} == bodies
    assert places(forge, "CartPole-v1") == ["bob/balance", "alice/follows"]
    assert forge.world.issues == {}


def test_6_nothing_was_told_or_taken_without_a_token(forge: ActForge) -> None:
    served = [request for request in forge.server.requests if request.status < 300]
    pushes = [request for request in served if request.is_push]

    assert len(served) > 50
    assert pushes
    assert {request.login for request in served} == {BOT}
    # Checkout asks with its token from the start; a client that is refused once has not been given one.
    assert [request for request in forge.server.requests if request.status == 401] == []
