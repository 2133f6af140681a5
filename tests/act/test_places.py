"""Where the tests under act look for what they need, and that they say so where it is missing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.act import places
from tests.act.runner import UNKNOWN, ActRunner, act_faults, parse_run, read_log, timed
from tests.workflows.board import lay_out
from tests.workflows.facts import facts
from tests.workflows.files import FILES, ROOT, read
from tests.workflows.remote import Remote, git


def everything(place: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`.ci/run` in a folder where the engine cannot be started, which ends it with 7."""
    (place / "board" / ".ci").mkdir(parents=True)
    shutil.copy2(ROOT / ".ci" / "run", place / "board" / ".ci" / "run")
    engine = place / "board" / ".ci" / "engine"
    engine.write_text("#!/bin/sh\nexit 7\n")
    engine.chmod(0o755)
    # It starts beside the installation.
    (place / "board" / "Makefile").write_text("dev notebook:\n\t@:\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PULLRANK_")}
    return subprocess.run(
        [place / "board" / ".ci" / "run"], env={**kept, **environment}, capture_output=True, text=True, check=False
    )


def test_without_the_actions_everything_fails_at_once(tmp_path: Path) -> None:
    done = everything(tmp_path)

    assert done.returncode == 1
    assert "PULLRANK_ACTIONS" in done.stderr
    assert "PULLRANK_NO_ACT=1" in done.stderr


def test_the_actions_may_be_done_without_where_somebody_says_so(tmp_path: Path) -> None:
    done = everything(tmp_path, PULLRANK_NO_ACT="1")

    assert done.returncode == 7
    assert "not run under act" in done.stdout


def test_the_actions_are_looked_for_beside_the_repository(tmp_path: Path) -> None:
    (tmp_path / "shared" / "actions").mkdir(parents=True)

    assert everything(tmp_path).returncode == 7


@pytest.mark.parametrize(
    ("folder", "words"),
    [(None, "PULLRANK_ACTIONS names none"), ("nowhere", "checkout/action.yml is not there"), ("", "checkout/action.yml")],
)
def test_what_is_missing_of_the_actions_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str | None, words: str
) -> None:
    monkeypatch.setenv("PULLRANK_REQUIRE_ACT", "1")
    monkeypatch.delenv("PULLRANK_ACTIONS", raising=False)
    if folder is not None:
        monkeypatch.setenv("PULLRANK_ACTIONS", str(tmp_path / folder))

    with pytest.raises(pytest.fail.Exception) as caught:
        places.action("actions/checkout")
    assert words in str(caught.value)
    assert "CONTRIBUTING.md" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["attest", "deploy-pages"])
def test_a_stub_has_nothing_that_the_action_has_not(name: str) -> None:
    stub, known = read(places.STUBS / name / "action.yml"), facts()[f"actions/{name}"]

    assert set(stub.get("inputs", {})) <= set(known["inputs"])
    assert set(stub.get("outputs", {})) <= set(known["outputs"])
    assert f"::warning::STUB: actions/{name} was not run" in stub["runs"]["steps"][0]["run"]


def test_there_are_two_stubs() -> None:
    assert sorted(path.name for path in places.STUBS.iterdir()) == ["attest", "deploy-pages"]


def line(job: str, second: int, **more: object) -> dict[str, object]:
    return {"jobID": job, "time": f"2026-01-02T03:04:{second:02}Z", **more}


def test_what_became_of_jobs_is_read_from_the_log() -> None:
    lines = [
        line("plan", 0, step="Main Plan", stage="Main", msg="planning\n"),
        line("plan", 1, step="Main Plan", stage="Main", stepResult="success"), line("plan", 2, jobResult="success"),
        line("evaluate", 3, matrix={"shard": 0}, step="Main Evaluate", stage="Main", stepResult="success"),
        line("evaluate", 9, matrix={"shard": 0}, jobResult="success"),
        line("evaluate", 3, matrix={"shard": 1}, step="Main Evaluate", stage="Main", stepResult="failure"),
        line("evaluate", 5, matrix={"shard": 1}, jobResult="failure"),
        {"msg": "no job's"},
    ]  # fmt: skip
    run = parse_run(lines)

    assert {name: job.result for name, job in run.jobs.items()} == {"plan": "success", "evaluate": "failure"}
    assert [job.result for job in run.shards["evaluate"]] == ["success", "failure"]
    assert run.jobs["plan"].steps[0].log == "planning\n"
    assert run.conclusion == "failure"


def test_jobs_are_billed_by_begun_minutes() -> None:
    lines = [
        line("plan", 0, step="Set up"), line("plan", 30, step="Complete"),
        {"jobID": "plan", "step": "Complete", "time": "2026-01-02T03:05:10Z"},
    ]  # fmt: skip
    (job,) = timed(lines, "official", "push")

    assert job.seconds == 70
    assert job.billed == 2


def test_where_act_itself_fails_nothing_it_says_is_believed() -> None:
    lines = [
        {"level": "error", "msg": "Failed to parse 'max-parallel' option: invalid syntax"},
        {"level": "error", "msg": "a step's own words", "jobID": "plan"},
        {"level": "error", "msg": "Error while evaluating matrix: Invalid JSON"},
        {"level": "info", "msg": "Start server"},
    ]

    assert act_faults(lines) == ["Error while evaluating matrix: Invalid JSON"]


def test_what_act_refuses_to_read_is_told_from_a_job_that_failed(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("Error: Job 'plan' failed\nError: workflow is not valid.\nLine: 18\n")

    assert act_faults(read_log(tmp_path / "log")) == ["Error: workflow is not valid."]


def test_a_composite_action_is_one_step() -> None:
    lines = [
        line("attest", 0, step="Attest", stage="Main", stepID=["1", "0"], msg="signed\n"),
        line("attest", 1, step="Attest", stage="Main", stepID=["1", "0"], stepResult="failure"),
        line("attest", 2, step="Attest", stage="Main", stepID=["1"], stepResult="success"),
        line("attest", 3, jobResult="success"),
    ]

    (step,) = parse_run(lines).jobs["attest"].steps
    assert (step.outcome, step.log) == ("success", "signed\n")


def test_the_summary_of_a_job_is_read_from_the_log() -> None:
    lines = [
        line("plan", 0, step="Here", command="summary", content="## Nothing was run\n"),
        line("plan", 1, step="Plan", command="summary", content="what to do"),
        line("plan", 2, jobResult="success"), line("site", 3, jobResult="success"),
    ]  # fmt: skip
    run = parse_run(lines)

    assert run.jobs["plan"].summary == "## Nothing was run\nwhat to do"
    assert run.jobs["site"].summary == ""


def test_act_reads_the_workflows_byte_for_byte_but_for_one_line(tmp_path: Path) -> None:
    remote = Remote(tmp_path)
    sha = remote.start(lay_out(tmp_path / "files"))
    runner = ActRunner.__new__(ActRunner)
    runner.remote, runner.root = remote, tmp_path
    runner._check_out(tmp_path / "copy", sha)

    changed = git(tmp_path / "copy", "status", "--porcelain").splitlines()
    assert changed
    for path in (path.split()[-1] for path in changed):
        whole, shown = ((place / path).read_bytes().splitlines(True) for place in (ROOT, tmp_path / "copy"))
        assert shown == [one for one in whole if one.partition(b"#")[0].strip() != b"deployment: false"]
        assert len(shown) < len(whole)


def test_the_one_line_is_where_a_job_names_its_environment() -> None:
    """Nothing else of a file could be kept from act by the same words."""
    for path in FILES:
        jobs = read(path)["jobs"].values()
        quiet = [job for job in jobs if isinstance(job.get("environment"), dict) and "deployment" in job["environment"]]
        assert len(UNKNOWN.findall(path.read_bytes())) == len(quiet)
        assert [job["environment"]["deployment"] for job in quiet] == [False] * len(quiet)
