"""A copy of the template, or a renamed board: until challenge.yml names this repository, no workflow does anything."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.workflows.board import CHALLENGE, LEANS, agent, lay_out
from tests.workflows.engine import Expressions
from tests.workflows.files import NAMES, jobs, workflow
from tests.workflows.forge import Forge
from tests.workflows.remote import git
from tests.workflows.runner import Job, LostError

GATE = {"name": "Check that this is the right repository", "id": "here", "run": "make here"}
FIRST = "actions/checkout@"


@pytest.fixture
def forge(expressions: Expressions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    place = tmp_path_factory.mktemp("copy")
    made = Forge(place, lay_out(place / "files", CHALLENGE.replace("host/board", "pullrank/pullrank")), expressions)
    made.world.person("maintainer", 99)
    made.world.permissions["maintainer"] = "write"
    yield made
    made.close()
    assert made.stand_in.violations == []


def everything(forge: Forge) -> dict[str, Job]:
    return {f"{name}/{job_id}": job for name, run in forge.runs for job_id, job in run.jobs.items()}


def test_a_fresh_copy_does_nothing_and_says_what_to_do(forge: Forge) -> None:
    head = forge.remote.tip()
    forge.deliver("push", {}, ["challenge.yml", "site/pages/index.md", "evaluator/wire.py"])
    forge.tick()
    number = forge.open("alice", agent("alice", "pole", LEANS))
    forge.say(number, "maintainer", "/retry")
    forge.deliver("merge_group", {"action": "checks_requested"})
    forge.deliver("workflow_dispatch", {"inputs": {"pull": str(number), "sha": "a" * 40}})

    git(forge.remote.bare, "tag", "v9", head)
    forge.deliver("push", {"ref": "refs/tags/v9"}, ref="refs/tags/v9")

    assert {name for name, _ in forge.runs} == set(NAMES) - {"act"}  # which plays this story itself
    assert forge.last("release").conclusion == "skipped"
    assert [name for name, run in forge.runs if run.conclusion not in ("success", "skipped")] == []
    ran = {name: job for name, job in everything(forge).items() if job.result != "skipped"}
    assert {step.name for job in ran.values() for step in job.steps if step.outcome != "skipped"} == {
        "Checkout", "Checkout main", "Checkout main, the evaluator as it is now", GATE["name"],
    }  # fmt: skip
    assert all("pullrank init --title" in job.summary and "--repository host/board" in job.summary for job in ran.values())
    assert forge.stand_in.calls == []
    assert forge.actions.deployed == []
    assert [ref for ref in ("results", "traces-2026", "episodes") if forge.remote.tip(f"refs/heads/{ref}")] == []
    assert forge.remote.tip() == head


def test_a_copy_that_names_itself_runs(forge: Forge) -> None:
    forge.remote.change_main({"challenge.yml": CHALLENGE}, "Make it ours")

    def stop_before_the_site(path: str, job: str, matrix: dict[str, Any], step: str) -> None:
        if path.endswith("site.yml"):
            raise LostError

    forge.before_step(stop_before_the_site)
    run = forge.start(".github/workflows/official.yml", "workflow_dispatch", {}, forge.remote.tip(), "refs/heads/main")

    steps = {step.name: step.outcome for step in run.jobs["plan"].steps}
    assert (steps["Plan"], steps[GATE["name"]]) == ("success", "success"), run.log()
    assert run.jobs["plan"].outputs["here"] == "true"
    assert run.jobs["site"].result == "failure"  # it was begun
    assert run.jobs["plan"].summary.count("Nothing was run") == 0


def first_jobs(name: str) -> list[str]:
    return [job_id for job_id, job in jobs(name).items() if "needs" not in job]


@pytest.mark.parametrize("name", NAMES)
def test_every_first_job_asks_right_after_its_checkout_and_every_later_step_waits_for_it(name: str) -> None:
    assert first_jobs(name)
    for job_id in first_jobs(name):
        checkout, gate, *later = copy.deepcopy(jobs(name)[job_id]["steps"])
        assert checkout["uses"].startswith(FIRST)
        assert gate == GATE
        open_steps = [step["name"] for step in later if "steps.here.outputs.here == 'true'" not in step.get("if", "")]
        # What another step's output decides needs no word of its own: a skipped step has none.
        assert open_steps == (["Attest", "List the components", "Attest the components"] if name == "image" else [])


def test_the_first_job_of_a_longer_workflow_hands_on_what_it_saw() -> None:
    longer = [name for name in NAMES if len(jobs(name)) > len(first_jobs(name))]
    outputs = [jobs(name)[first_jobs(name)[0]]["outputs"]["here"] for name in longer]

    assert longer
    assert outputs == ["${{ steps.here.outputs.here }}"] * len(longer)


def test_a_copy_keeps_the_hourly_run_that_waits_for_its_board() -> None:
    assert "schedule" in workflow("reconcile")["on"]
