"""The whole life of a board, run from the workflow files: real git, real PyGithub against the stand-in, the real container.

One chapter follows from the one before it.
"""

import html
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

from evaluator.host.docker.engine import Engine
from tests.workflows.board import BALANCES, CRASHES, LEANS, agent, gone, lay_out
from tests.workflows.engine import Expressions
from tests.workflows.forge import Forge
from tests.workflows.remote import git
from tests.workflows.runner import LostError

pytestmark = pytest.mark.docker
NUMBERS: dict[str, int] = {}
OF_A_QUEUE = re.compile(r"refs/(pullrank/(main|queue/.+)|remotes/origin/(main|gh-readonly-queue/.+))$")


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
    agents = re.findall(r'href="[./]*/agents/(\w+/\w+)/"', html.unescape(forge.page("tasks/CartPole-v1/index.html")))
    return list(dict.fromkeys(agents))


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

    reports = [run for name, run in forge.runs if name == "report"][before:]
    assert "skipped" in [job.result for run in reports for job in run.jobs.values()]  # attack 3
    assert ".github/workflows/other.yml" in only_comment(forge, number)


def test_7a_a_merge_queue_hears_what_the_pull_request_heard(forge: Forge) -> None:
    passed = forge.enqueue(NUMBERS["alice"])
    failed = forge.enqueue(next(pull.number for pull in forge.world.pulls.values() if pull.author == "eve"))

    succeeded(forge, "queue")
    states = {one["sha"]: one["state"] for one in forge.world.statuses if one["context"] == "pullrank"}
    assert (states[passed], states[failed]) == ("success", "failure")


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
    (attested,) = [inputs for job, inputs in forge.actions.attested if job == "attest"]
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
    assert forge.last("official").jobs["publish"].result == "failure"
    assert len(recorded(forge)) == 2
    (issue,) = [one for one in forge.world.issues.values() if one.state == "open"]
    assert issue.title == "Official results could not be recorded"
    assert "1 of 1 shards handed in nothing usable: 0" in issue.body

    forge.before_step(lambda *_: None)
    forge.tick()
    succeeded(forge, "official")
    assert len(recorded(forge)) == 3
    assert "official" in labels(forge, number)
    assert issue.state == "closed"


def test_a2_one_of_two_shards_arrives_and_is_recorded(forge: Forge) -> None:
    """Of a task that nobody has played it is not known how long it takes, so that three agents make two shards."""
    before, runs = len(recorded(forge)), len(forge.runs)
    files: dict[str, str | None] = {}
    for owner in ("carol", "dora", "erin"):
        made = agent(owner, "car", f"len('{owner}') % 3")
        files |= {path: (text or "").replace("CartPole-v1", "MountainCar-v0") for path, text in made.items()}

    def dies(path: str, job: str, matrix: dict[str, Any], step: str) -> None:
        if job == "evaluate" and step == "Upload" and matrix["shard"] == 0:
            raise LostError

    forge.before_step(dies)
    forge.maintain(files, "Add three agents")
    run, following = (run for name, run in forge.runs[runs:] if name == "official")
    assert len(run.shards["evaluate"]) == 2
    assert run.jobs["publish"].result == "success", run.log()
    assert "1 of 2 shards handed in nothing usable: 0" in run.jobs["publish"].summary
    assert before < len(recorded(forge)) < before + 3
    # Something was recorded and more is wanted, so that another round began at once; it lost its only shard.
    assert following.jobs["publish"].result == "failure"
    assert [issue.state for issue in forge.world.issues.values()][-1] == "open"

    forge.before_step(lambda *_: None)
    forge.tick()
    succeeded(forge, "official")
    assert len(recorded(forge)) == before + 3
    assert [issue.state for issue in forge.world.issues.values()][-1] == "closed"


def hour(forge: Forge) -> list[tuple[str, list[str]]]:
    """The runs that an hour brings, each with its jobs that were not skipped."""
    before = len(forge.runs)
    forge.tick()
    ran = forge.runs[before:]
    return [(name, [job for job, done in run.jobs.items() if done.result != "skipped"]) for name, run in ran]


def everything(forge: Forge) -> dict[str, object]:
    """All that a run could change."""
    refs = ("main", "results", "traces-2026", "episodes", "deployed")
    return {
        "refs": [forge.remote.tip(f"refs/heads/{ref}") for ref in refs], "sites": list(forge.actions.deployed),
        "comments": {number: one.body for number, one in forge.world.comments.items()},
        "labels": {number: list(names) for number, names in forge.world.labelled.items()},
        "issues": {number: (one.state, one.body) for number, one in forge.world.issues.items()},
    }  # fmt: skip


def test_b_a_quiet_hour_is_one_job_that_changes_nothing(forge: Forge) -> None:
    before = everything(forge)

    assert hour(forge) == [("reconcile", ["reconcile"])]
    succeeded(forge, "reconcile")
    assert everything(forge) == before
    assert "Nothing is due." in forge.last("reconcile").log()


def test_b2_whatever_lost_machines_left_undone_the_next_hours_do(forge: Forge) -> None:
    files = agent("frank", "steady", "1")
    forge.on_hold = True  # merged before anybody let the preview run
    number = forge.open("frank", files)
    forge.on_hold = False
    lost = {("plan", "Plan")}

    def dies(path: str, job: str, matrix: dict[str, Any], step: str) -> None:
        if (job, step) in lost:
            raise LostError

    forge.before_step(dies)
    forge.merge(number)
    assert [name for name, job in forge.last("official").jobs.items() if job.result != "skipped"] == ["plan"]

    lost = {("deploy", "Deploy"), ("announce", "Announce")}
    sites, note = len(forge.actions.deployed), forge.remote.tip("refs/heads/deployed")
    ((first, _), (second, jobs)) = hour(forge)
    assert (first, second, "evaluate" in jobs) == ("reconcile", "official", True)
    assert [path for path in recorded(forge) if "/frank/steady/" in path]
    assert forge.last("official").conclusion == "failure"
    assert len(forge.actions.deployed) == sites
    assert "official" not in labels(forge, number)

    lost = {("deployed", "Note")}
    assert hour(forge) == [("reconcile", ["reconcile"]), ("official", ["plan", "site", "announce"])]
    assert "steady" in forge.page("agents/frank/steady/index.html")
    assert "official" in labels(forge, number)
    assert forge.remote.tip("refs/heads/deployed") == note

    lost = set()
    assert hour(forge) == [("reconcile", ["reconcile"]), ("official", ["plan", "site"])]
    assert forge.last("official").conclusion == "success"
    assert forge.remote.tip("refs/heads/deployed") != note
    assert hour(forge) == [("reconcile", ["reconcile"])]
    forge.before_step(lambda *_: None)


def test_c_a_withdrawn_agent_leaves_a_tombstone(forge: Forge) -> None:
    number = forge.open("alice", {**gone("alice", "pole"), "submissions/alice/pole/notes.md": None})
    forge.merge(number)

    succeeded(forge, "official")
    assert len(recorded(forge)) == 7
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
    assert len(recorded(forge)) == 7


def test_e_no_checkout_holds_what_was_recorded(forge: Forge) -> None:
    """Results and traces grow without end; whoever needs results fetches the newest ones beside the checkout."""
    branches = ("results", "traces-2026")
    objects = [forge.remote.tip(f"refs/heads/{name}") for name in branches]
    objects += [forge.remote.blob(name, path) for name in branches for path in forge.remote.paths(f"refs/heads/{name}")]
    assert len(objects) >= 2 + 3 + 1

    whole = [place for place in forge.actions.checkouts if git(place, "rev-parse", "--is-shallow-repository") == "false"]
    assert len(whole) > 20
    for place in forge.actions.checkouts:
        # Only who looks at a merge queue fetches more, and that is main's history.
        assert not [ref for ref in git(place, "for-each-ref", "--format=%(refname)").split() if not OF_A_QUEUE.match(ref)]
        answers = git(place, "cat-file", "--batch-check", given="\n".join(objects)).splitlines()
        assert answers == [f"{name} missing" for name in objects]


def test_f_no_job_used_more_than_it_was_permitted(forge: Forge) -> None:
    assert forge.overreaches() == []
