"""The whole life of a board, run from the workflow files: real git, real PyGithub against the stand-in, the real container.

One chapter follows from the one before it.
"""

import html
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

from evaluator.host.container import Engine
from tests.workflows.board import BALANCES, CRASHES, LEANS, agent, gone, lay_out
from tests.workflows.engine import Expressions
from tests.workflows.forge import Forge
from tests.workflows.runner import LostError

pytestmark = pytest.mark.docker
NUMBERS: dict[str, int] = {}


@pytest.fixture(scope="module")
def forge(expressions: Expressions, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    place = tmp_path_factory.mktemp("story")
    base = {"BASE_IMAGE": os.environ["BASE_IMAGE"]} if "BASE_IMAGE" in os.environ else {}
    made = Forge(place, lay_out(place / "files"), expressions, base)
    made.world.person("alice", 11)
    made.world.person("bob", 12)
    made.world.person("eve", 66)
    yield made
    made.close()
    assert made.stand_in.violations == []


def succeeded(forge: Forge, workflow: str) -> None:
    run = forge.last(workflow)
    assert run.conclusion == "success", run.log()


def only_comment(forge: Forge, number: int) -> str:
    (comment,) = forge.comments(number)
    return comment


def labels(forge: Forge, number: int) -> set[str]:
    return set(forge.world.labelled.get(number, []))


def recorded(forge: Forge) -> list[str]:
    return forge.remote.paths("refs/heads/results")


def places(forge: Forge) -> list[str]:
    """The agents that the deployed page of the task links to, from the first row down."""
    found = re.findall(r'href="[./]*/agents/(\w+/\w+)/"', html.unescape(forge.page("tasks/CartPole-v1/index.html")))
    return list(dict.fromkeys(found))


def test_1_before_anything_the_site_builds(forge: Forge) -> None:
    forge.tick()

    succeeded(forge, "official")
    assert recorded(forge) == []
    assert "Story" in forge.page("index.html")


def test_2_a_strangers_first_run_waits_for_approval(forge: Forge) -> None:
    forge.on_hold = True
    NUMBERS["alice"] = forge.open("alice", agent("alice", "pole", LEANS))
    forge.on_hold = False

    assert forge.comments(NUMBERS["alice"]) == []
    forge.tick()
    succeeded(forge, "official")
    assert "approv" in only_comment(forge, NUMBERS["alice"])


def test_3_the_preview_is_commented(forge: Forge) -> None:
    forge.approve(NUMBERS["alice"])

    succeeded(forge, "preview")
    succeeded(forge, "report")
    comment = only_comment(forge, NUMBERS["alice"])
    assert "pole" in comment
    assert "CartPole" in comment
    assert "preview" in comment.casefold()
    assert labels(forge, NUMBERS["alice"]) == {"preview-ok"}
    assert recorded(forge) == []


def test_4_a_new_commit_edits_the_same_comment(forge: Forge) -> None:
    before = next(one for one in forge.world.comments.values() if one.number == NUMBERS["alice"])
    old = before.body
    sha = forge.push(NUMBERS["alice"], {"submissions/alice/pole/notes.md": "A word more.\n"})

    assert only_comment(forge, NUMBERS["alice"]) == before.body != old
    assert sha[:7] in before.body
    assert {one["state"] for one in forge.world.statuses if one["sha"] == sha} >= {"success"}


def test_5_a_bad_agent_is_explained(forge: Forge) -> None:
    number = forge.open("eve", agent("eve", "broken", CRASHES))

    succeeded(forge, "preview")
    comment = only_comment(forge, number)
    assert "ZeroDivisionError" in comment
    assert "crashed" in comment.casefold()
    assert labels(forge, number) == {"needs-changes"}


def test_6_a_pull_request_that_brings_its_own_evaluator_gets_no_score(forge: Forge) -> None:
    evil = forge.remote.show(forge.remote.tip(), ".github/workflows/preview.yml")
    evil = evil.replace("run: .venv/bin/pullrank bot preview", "run: echo PWNED; .venv/bin/pullrank bot preview")
    number = forge.open("eve", {**agent("eve", "cheat", LEANS), ".github/workflows/preview.yml": evil})

    assert "PWNED" in forge.last("preview").log()  # attack 1: its own file is what ran
    comment = only_comment(forge, number)
    assert ".github/workflows/preview.yml" in comment
    assert labels(forge, number) == {"needs-review"}


def test_7_a_file_with_the_same_name_is_not_believed(forge: Forge) -> None:
    evil = forge.remote.show(forge.remote.tip(), ".github/workflows/preview.yml")
    before = len([name for name, _ in forge.runs if name == "report"])
    number = forge.open("eve", {".github/workflows/other.yml": evil, **agent("eve", "twin", LEANS)})

    said = [run for name, run in forge.runs if name == "report"][before:]
    assert "skipped" in [job.result for run in said for job in run.jobs.values()]  # attack 3
    assert ".github/workflows/other.yml" in only_comment(forge, number)


def test_8_the_merge_is_recorded_published_and_announced(forge: Forge) -> None:
    forge.merge(NUMBERS["alice"])

    succeeded(forge, "official")
    assert len(recorded(forge)) == 1
    assert recorded(forge)[0].startswith("CartPole-v1/alice/pole/")
    assert len(forge.remote.paths("refs/heads/traces-2026")) == 1
    assert forge.remote.subjects("refs/heads/results")[0] == "record: alice/pole ok on CartPole-v1"
    assert places(forge) == ["alice/pole"]
    comment = only_comment(forge, NUMBERS["alice"])
    assert "official" in comment.casefold()
    assert "official" in labels(forge, NUMBERS["alice"])
    (attested,) = [inputs for job, inputs in forge.actions.attested if job == "publish"]
    assert recorded(forge)[0] in attested["content"]


def test_9_a_second_agent_overtakes(forge: Forge) -> None:
    number = NUMBERS["bob"] = forge.open("bob", agent("bob", "balance", BALANCES))
    preview = only_comment(forge, number)
    forge.merge(number)

    succeeded(forge, "official")
    assert preview != only_comment(forge, number)
    assert places(forge) == ["bob/balance", "alice/pole"]
    assert len(recorded(forge)) == 2


def test_a_shard_dies_and_the_hourly_run_mends_it(forge: Forge) -> None:
    number = forge.open("alice", agent("alice", "second", BALANCES + " # another"))

    def dies(path: str, job: str, matrix: dict[str, Any], step: str) -> None:
        if job == "evaluate" and step == "Upload":
            raise LostError

    forge.before_step(dies)
    forge.merge(number)
    assert forge.last("official").conclusion == "failure"
    assert len(recorded(forge)) == 2

    forge.before_step(lambda *_: None)
    forge.tick()
    succeeded(forge, "official")
    assert len(recorded(forge)) == 3
    assert "official" in labels(forge, number)


def test_b_nothing_is_done_twice(forge: Forge) -> None:
    before = forge.remote.tip("refs/heads/results")
    forge.tick()

    succeeded(forge, "official")
    assert forge.last("official").jobs["evaluate"].result == "skipped"
    assert forge.remote.tip("refs/heads/results") == before


def test_c_a_withdrawn_agent_leaves_a_tombstone(forge: Forge) -> None:
    number = forge.open("alice", {**gone("alice", "pole"), "submissions/alice/pole/notes.md": None})
    forge.merge(number)

    succeeded(forge, "official")
    assert len(recorded(forge)) == 3
    assert "withdrawn" in forge.page("agents/alice/pole/index.html").casefold()
    assert "alice/pole" in forge.page("index.html").partition("No longer ranked")[2]
    assert "withdrawn" in only_comment(forge, number).casefold()


def test_d_commands_are_answered(forge: Forge) -> None:
    number = forge.open("eve", agent("eve", "asks", LEANS))
    forge.say(number, "eve", "/help")
    succeeded(forge, "commands")
    assert any("/retry" in body for body in forge.comments(number))

    sha = forge.world.pulls[number].head_sha
    forge.say(number, "eve", f"/evaluate {sha}")
    assert not [name for name, _ in forge.runs if name == "evaluate"]

    forge.world.person("maintainer", 99)
    forge.world.permissions["maintainer"] = "write"
    forge.say(number, "maintainer", f"/evaluate {sha}")
    succeeded(forge, "evaluate")
    played = next(body for body in forge.comments(number) if "asks" in body and "CartPole" in body)
    assert sha[:7] in played
    assert len(recorded(forge)) == 3


def test_e_no_job_used_more_than_it_was_permitted(forge: Forge) -> None:
    assert forge.overreaches() == []
