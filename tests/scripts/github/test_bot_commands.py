"""The verbs as workflows call them: variables in, requests and files out."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.commands import bot
from scripts.console import CommandError
from scripts.github.official import publish_round
from scripts.github.official.failure_issues import FAILURE_LABEL, PUBLISH_ISSUE_TITLE
from scripts.github.pull_request import find_pull
from scripts.github.workflow.event import pull_event
from tests.github.world import BOT, NAME, OWNER, REPOSITORY_ID, Fault, Opened, WorkflowRun
from tests.scripts.github.remotes import AGENT, CHALLENGE, Clone, agent_files, git
from tests.scripts.github.scenes import Scene, commented, completed, previewed

EXCLUDED = b'exclusions:\n  - {login: alice, since: "2026-01-01", who: host, why: asked, link: "https://example.org/1"}\n'


@pytest.fixture
def workflow(scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A step of a workflow on main; the path is the event's."""
    event = tmp_path / "event.json"
    event.write_text("{}")
    variables = {
        "GITHUB_EVENT_NAME": "schedule", "GITHUB_EVENT_PATH": str(event), "GITHUB_RUN_ID": "500",
        "GITHUB_REPOSITORY": f"{OWNER}/{NAME}", "GITHUB_REPOSITORY_ID": str(REPOSITORY_ID), "GITHUB_SHA": scene.clone.head,
        "GITHUB_API_URL": scene.standin.address, "GITHUB_TOKEN": "bot-token", "GITHUB_WORKSPACE": str(scene.clone.path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "GITHUB_OUTPUT": str(tmp_path / "output"), "PULLRANK_PACE": "0",
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    git(scene.clone.path, "checkout-index", "-f", "challenge.yml")
    return event


def test_report(scene: Scene, workflow: Path) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha))
    workflow.write_text(json.dumps(completed(31)))

    assert bot.report() == 0
    assert scene.statuses(sha)[0][0] == "success"


def test_command(scene: Scene, workflow: Path) -> None:
    scene.bring()
    written = scene.world.comment(7, "alice", "/help")
    workflow.write_text(json.dumps(commented(7, written.id, "/help", ("alice", 11))))

    assert bot.command() == 0
    assert written.reactions == ["+1"]


def test_announce_and_reconcile(scene: Scene, workflow: Path) -> None:
    scene.bring()
    scene.merge()

    assert bot.announce() == 0
    assert bot.reconcile() == 0
    assert len(scene.bodies()) == 1


def test_a_round_by_its_verbs(scene: Scene, workflow: Path, tmp_path: Path) -> None:
    scene.bring()
    merged = scene.merge()
    scene.world.commits[merged] = [7]

    assert bot.plan(sandbox="process") == 0
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert json.loads(outputs["count"]) == 4
    assert json.loads(outputs["runner"]) == json.loads(outputs["labels"])
    sha, shards = json.loads(outputs["sha"]), json.loads(outputs["shards"])
    for shard in shards:
        out = tmp_path / "shards" / f"shard-{shard}"
        assert bot.evaluate(shard, len(shards), sha, out, json.loads(outputs["results_sha"]), "process") == 0
    accepted = tmp_path / "accepted"
    for only in ("check", "record"):
        assert bot.publish([tmp_path / "shards"], sha, len(shards), "", accepted, only, "process") == 0

    git(scene.clone.path, "fetch", "-q", "origin", "results")
    names = git(scene.clone.path, "ls-tree", "-r", "--name-only", "FETCH_HEAD").splitlines()
    assert len(names) == 4
    recorded = [json.loads(git(scene.clone.path, "show", f"FETCH_HEAD:{name}")) for name in names if "/alice/" in name]
    assert {(one["login_id"], one["beacon"], one["beacon_verified"]) for one in recorded} == {(11, merged, True)}


def test_a_verified_run_fetches_the_head_as_objects_and_plays_it(
    scene: Scene, workflow: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = scene.bring(source=AGENT + b"# mine\n")
    monkeypatch.setenv("GITHUB_EVENT_NAME", "workflow_dispatch")
    workflow.write_text(json.dumps({"inputs": {"pull": "7", "sha": sha}}))

    assert bot.preview(scene.clone.path, tmp_path / "preview", "process") == 0

    preview = json.loads((tmp_path / "preview" / "preview.json").read_text())
    assert preview["head_sha"] == sha
    assert [result["verdict"] for result in preview["agents"][0]["results"]] == ["ok", "ok"]
    assert not (scene.clone.path / "submissions" / "alice").exists()


def test_a_missing_token_is_an_error_of_one_line(workflow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")

    with pytest.raises(CommandError, match="GITHUB_TOKEN is not set"):
        bot.announce()


def test_publish_knows_its_two_halves(workflow: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="it is check, record or both"):
        bot.publish([tmp_path], "a" * 40, 1, only="half")


def test_a_verified_run_is_played_as_a_push_would_have_been(scene: Scene) -> None:
    sha = scene.bring()
    workflow = scene.context("workflow_dispatch", {"inputs": {"pull": "7", "sha": sha}}).workflow

    event = pull_event(find_pull.dispatched_pull_event(workflow, scene.github))

    assert (event.number, event.author, event.author_id, event.head_sha) == (7, "alice", 11, sha)
    assert event.base_sha == scene.clone.head


@pytest.mark.parametrize("inputs", [{}, {"pull": "7"}, {"pull": "x", "sha": "a" * 40}, {"pull": "٧", "sha": "a" * 40}])
def test_a_verified_run_without_a_pull_request_and_a_commit_is_refused(scene: Scene, inputs: dict[str, str]) -> None:
    scene.bring()
    workflow = scene.context("workflow_dispatch", {"inputs": inputs}).workflow

    with pytest.raises(CommandError, match="all 40 digits"):
        find_pull.dispatched_pull_event(workflow, scene.github)


def test_a_verified_run_of_a_commit_that_is_gone_is_refused(scene: Scene) -> None:
    scene.world.runs[500] = WorkflowRun(500, scene.clone.head)
    scene.bring()
    workflow = scene.context("workflow_dispatch", {"inputs": {"pull": "7", "sha": "b" * 40}}).workflow

    with pytest.raises(CommandError, match="ask for its newest commit"):
        find_pull.dispatched_pull_event(workflow, scene.github)


@dataclass
class Step:
    """The verbs of a round's last job, as the workflow calls them."""

    scene: Scene
    place: Path
    sha: str
    shards: int

    def publish(self, only: str) -> int:
        return bot.publish([self.place / "shards"], self.sha, self.shards, "", self.place / "accepted", only, "process")

    def issues(self) -> list[Opened]:
        return [one for one in self.scene.world.issues.values() if one.state == "open"]

    def summary(self) -> str:
        return (self.place / "summary").read_text()


@pytest.fixture
def step(scene: Scene, workflow: Path, tmp_path: Path) -> Step:
    """A merged agent, planned and not played."""
    scene.bring()
    merged = scene.merge()
    scene.world.commits[merged] = [7]
    assert bot.plan(sandbox="process") == 0
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    return Step(scene, tmp_path, json.loads(outputs["sha"]), json.loads(outputs["total"]))


def test_a_round_that_records_nothing_fails_and_is_told_in_one_issue(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    for run in ("500", "501"):
        monkeypatch.setenv("GITHUB_RUN_ID", run)
        assert step.publish("check") == 0
        with pytest.raises(CommandError, match="nothing was recorded, though 4 results were asked for"):
            step.publish("record")
    (issue,) = step.issues()

    assert (issue.title, issue.labels, issue.author) == (PUBLISH_ISSUE_TITLE, [FAILURE_LABEL], BOT)
    assert "/actions/runs/501" in issue.body
    assert "nothing was recorded, though 4 results were asked for" in issue.body
    assert f"{step.shards} of {step.shards} shards handed in nothing usable" in issue.body
    assert json.loads((step.place / "output").read_text().splitlines()[-1].partition("=")[2]) == []


def test_the_issue_is_closed_by_the_round_that_records(step: Step) -> None:
    step.publish("check")
    with pytest.raises(CommandError):
        step.publish("record")
    for shard in range(step.shards):
        bot.evaluate(shard, step.shards, step.sha, step.place / "shards" / f"shard-{shard}", "", "process")
    shutil.rmtree(step.place / "accepted")
    step.publish("check")

    assert len(step.issues()) == 1
    assert step.publish("record") == 0
    assert step.issues() == []
    assert "4 results were recorded, 0 were known already." in step.summary()


def test_a_check_that_breaks_is_told_too(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*rest: object) -> None:
        raise KeyError("::error::@everybody")

    monkeypatch.setattr(publish_round, "check_shards", breaks)
    with pytest.raises(KeyError):
        step.publish("check")

    assert "`KeyError: ': :error: :@everybody'`" in step.issues()[0].body


def test_an_issue_that_cannot_be_written_hides_nothing(step: Step) -> None:
    step.scene.world.faults.append(Fault("GET", "/issues", 403, times=99))
    step.publish("check")

    with pytest.raises(CommandError, match="nothing was recorded"):
        step.publish("record")


def pushed_by_others(step: Step, files: dict[str, bytes | None]) -> None:
    """Main moves on while the round is played."""
    other = Clone(step.place / "other")
    git(step.place, "clone", "-q", str(step.scene.clone.path.parent / "origin.git"), str(other.path))
    other.commit(files)
    other.push()


@pytest.mark.parametrize(
    "files",
    [
        dict.fromkeys(agent_files("alice", "a")),
        agent_files("alice", "a", b"y = 2\n"),
        {"moderation.yml": EXCLUDED},
    ],
    ids=["withdrawn", "changed", "excluded"],
)
def test_an_agent_that_is_gone_meanwhile_is_not_missed(step: Step, files: dict[str, bytes | None]) -> None:
    pushed_by_others(step, files)
    step.publish("check")

    with pytest.raises(CommandError, match="though 2 results were asked for") as caught:
        step.publish("record")
    assert "alice" not in str(caught.value)


def test_tasks_that_changed_meanwhile_are_not_missed(step: Step) -> None:
    pushed_by_others(step, {"challenge.yml": CHALLENGE.replace(b"episodes: 3", b"episodes: 4")})
    step.publish("check")

    assert step.publish("record") == 0
    assert step.issues() == []


def test_what_others_recorded_meanwhile_is_not_missed(step: Step) -> None:
    for shard in range(step.shards):
        bot.evaluate(shard, step.shards, step.sha, step.place / "shards" / f"shard-{shard}", "", "process")
    step.publish("both")
    (step.place / "shards").rename(step.place / "gone")
    shutil.rmtree(step.place / "accepted")
    step.publish("check")

    assert step.publish("record") == 0
    assert step.issues() == []
    assert f"{step.shards} of {step.shards} shards handed in nothing usable" in step.summary()
