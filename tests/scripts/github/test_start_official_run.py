"""Whether an official run would have something to do: nothing is lost, and nothing is begun for nothing."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scripts.console import CommandError
from scripts.github import start_official_run
from scripts.github.official import plan_shards
from scripts.github.official.plan_shards import PlannedShards
from scripts.github.official.round_work import OfficialRun, planned_runtime_digest
from scripts.github.pull_request import announce_official_scores
from scripts.static_site.deployed_site import (
    DEPLOYED_BRANCH,
    SiteInputs,
    current_site_inputs,
    note_deployed,
    parse_built,
    read_deployed,
)
from tests.github.world import WorkflowRun
from tests.leaderboard import make
from tests.scripts.github.remotes import Clone, git
from tests.scripts.github.scenes import LAKE, POLE, Scene

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
DISPATCH = "POST /actions/workflows/official.yml/dispatches"
PHASED = b"""title: Test
season: "1"
phases:
  - {id: one, name: One, tasks: [CartPole-v1], start: "2026-01-03T00:00:00Z"}
tasks:
  - {id: CartPole-v1, episodes: 3}
  - {id: FrozenLake-v1, episodes: 3}
"""


def planned(**fields: Any) -> PlannedShards:
    nothing = {"shards": (), "count": 0, "left": 0, "sha": "", "results_sha": "", "labels": (), "at_once": 1}
    return PlannedShards(**{**nothing, "expected_minutes": 0.0, **fields})


@pytest.fixture
def quiet(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A board on which all is recorded, deployed and told."""
    monkeypatch.setattr(plan_shards, "plan_shards", lambda work: planned())
    note(scene)
    return scene


def note(scene: Scene, address: str = "", now: datetime = NOW) -> None:
    """The site was deployed as it would be built now."""
    context = scene.context()
    note_deployed(context.clone, current_site_inputs(context.clone, context.checkout.challenge, address, now), now)


def look(scene: Scene, address: str = "", now: datetime = NOW) -> bool:
    """Whether an official run begins."""
    scene.standin.calls.clear()
    context = replace(scene.context(), now=now)
    work = OfficialRun(
        clone=context.clone,
        sandbox="process",
        runtime_digest=planned_runtime_digest("process", ""),
        ask=lambda shas: {},
        run_url=None,
    )
    assert start_official_run.start_official_run_if_due(context, work, address) == 0
    assert scene.standin.writes() in ([], [DISPATCH])
    return scene.standin.writes() == [DISPATCH]


def test_in_a_quiet_hour_nothing_begins(quiet: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    assert not look(quiet)
    assert not look(quiet, now=NOW + timedelta(days=400))
    assert "Nothing is due." in capsys.readouterr().err


def test_what_is_wanted_and_not_recorded_begins_one(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    """A publish that died half-way, a round that nobody asked for, a lost shard: all are this."""
    note(scene)

    assert look(scene)
    assert "2 evaluations are wanted and not recorded" in capsys.readouterr().err


def test_so_does_a_record_that_github_is_to_be_asked_about(quiet: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_shards, "plan_shards", lambda work: planned(unasked=3))

    assert look(quiet)


def test_whom_only_another_token_can_see_in_a_team_counts_as_a_member(quiet: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def plan(work: OfficialRun) -> PlannedShards:
        assert work.is_member is not None
        seen.append(work.is_member("alice", "host/team"))
        return planned()

    monkeypatch.setattr(plan_shards, "plan_shards", plan)

    assert not look(quiet)
    assert seen == [True]


def test_a_site_that_was_never_deployed_is_due(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_shards, "plan_shards", lambda work: planned())

    assert look(scene)


@pytest.mark.parametrize("change", ["main", "results", "address"])
def test_a_site_of_another_state_is_due(quiet: Scene, change: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A deployment that failed leaves the older note: its inputs differ."""
    if change == "main":
        quiet.clone.commit({"README.md": b"words\n"})
        quiet.clone.push()
    if change == "results":
        git(quiet.clone.path, "push", "-q", "origin", "HEAD:refs/heads/results")

    assert look(quiet, "https://board.example/" if change == "address" else "")
    assert f"another state ({change})" in capsys.readouterr().err


def test_a_moment_that_changes_the_site_makes_it_due_and_no_other(quiet: Scene) -> None:
    quiet.clone.commit({"challenge.yml": PHASED})
    quiet.clone.push()
    note(quiet, now=NOW)

    assert not look(quiet, now=NOW + timedelta(hours=11))
    assert look(quiet, now=NOW + timedelta(hours=13))


@pytest.mark.parametrize("content", [b"{}", b"[", b'{"form": 2}', b"\xff"])
def test_a_note_that_cannot_be_read_makes_the_site_due(quiet: Scene, content: bytes) -> None:
    other = Clone(quiet.place / "other")
    git(quiet.place, "clone", "-q", str(quiet.place / "origin.git"), str(other.path))
    other.commit({"deployed.json": content})
    git(other.path, "push", "-q", "--force", "origin", f"HEAD:refs/heads/{DEPLOYED_BRANCH}")

    assert look(quiet)


def test_the_note_is_one_commit_that_is_replaced(quiet: Scene) -> None:
    origin = quiet.place / "origin.git"
    first = git(origin, "rev-parse", f"refs/heads/{DEPLOYED_BRANCH}")
    note(quiet, "https://board.example/", NOW + timedelta(seconds=1))

    assert git(origin, "rev-parse", f"refs/heads/{DEPLOYED_BRANCH}") != first
    assert git(origin, "rev-list", "--count", f"refs/heads/{DEPLOYED_BRANCH}") == "1"
    assert git(origin, "ls-tree", "-r", "--name-only", f"refs/heads/{DEPLOYED_BRANCH}") == "deployed.json"
    kept = read_deployed(quiet.context().clone)
    assert kept is not None
    assert (kept.main, kept.results, kept.address) == (quiet.clone.head, None, "https://board.example/")


def merged(scene: Scene) -> None:
    """Alice's pull request is merged, and the site built after it."""
    scene.bring()
    scene.merge()
    note(scene)


def test_a_merge_that_was_not_told_is_due_until_it_was(quiet: Scene) -> None:
    merged(quiet)
    entry = quiet.entry(quiet.clone.head)
    quiet.record(*(make.result(entry, (9.0, 11.0), on=task) for task in (POLE, LAKE)))

    assert look(quiet)
    assert announce_official_scores.announce_merged(quiet.context("push")) == 0
    assert quiet.bodies() != []
    assert not look(quiet)


def test_a_merge_that_waits_is_due_only_while_there_is_something_to_say(quiet: Scene) -> None:
    merged(quiet)

    assert look(quiet)
    assert announce_official_scores.announce_merged(quiet.context("push")) == 0
    assert not look(quiet)
    quiet.record(make.result(quiet.entry(quiet.clone.head), (9.0, 11.0), on=POLE))
    assert look(quiet)


def test_a_comment_without_its_label_is_due(quiet: Scene) -> None:
    merged(quiet)
    entry = quiet.entry(quiet.clone.head)
    quiet.record(*(make.result(entry, (9.0, 11.0), on=task) for task in (POLE, LAKE)))
    assert announce_official_scores.announce_merged(quiet.context("push")) == 0
    quiet.world.labelled[7] = []

    assert look(quiet)


def test_a_merge_without_agents_is_nothing(quiet: Scene) -> None:
    quiet.push({"docs.md": b"words\n"})
    quiet.merge()
    note(quiet)

    assert not look(quiet)


@pytest.mark.parametrize("error", [CommandError(3, "GitHub answered 502"), KeyError("title")])
def test_what_cannot_be_told_is_due(quiet: Scene, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object) -> Any:
        raise error

    for place, name in (
        (plan_shards, "plan_shards"),
        (start_official_run, "read_deployed"),
        (announce_official_scores, "pulls_with_news"),
    ):
        with monkeypatch.context() as here:
            here.setattr(place, name, fail)
            assert look(quiet), name
    assert not look(quiet)


def ran(scene: Scene, *conclusions: str | None, hours_ago: float = 1) -> None:
    """Official runs, the latest first."""
    at = (NOW - timedelta(hours=hours_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for number, conclusion in zip(range(300, 0, -1), conclusions, strict=False):
        scene.world.runs[number] = WorkflowRun(
            number, scene.clone.head, event="push", path=".github/workflows/official.yml", head_branch="main",
            conclusion=conclusion, status="completed" if conclusion else "in_progress", created_at=at,
        )  # fmt: skip


def test_while_an_official_run_is_under_way_no_other_is_asked_for(scene: Scene) -> None:
    ran(scene, None, "success")

    assert not look(scene)


@pytest.mark.parametrize(
    ("conclusions", "hours_ago", "begins"),
    [
        ("fs", 1, True), ("ffs", 1, True), ("fffs", 1, False), ("fffs", 2, True), ("ffffs", 2, False), ("ffffs", 4, True),
        ("ffffff", 10, False), ("ffffff", 16, True), ("sffff", 1, True), ("fcff", 1, False),
    ],
)  # fmt: skip
def test_what_keeps_failing_is_tried_less_and_less_often_and_never_given_up(
    scene: Scene, conclusions: str, hours_ago: float, begins: bool
) -> None:
    words = {"f": "failure", "s": "success", "c": "cancelled"}
    ran(scene, *(words[one] for one in conclusions), hours_ago=hours_ago)

    assert look(scene) is begins


@pytest.mark.attack(
    "runs_of_a_fork_whose_branch_is_called_main", family="bot", outcome="not looked at",
    tries="Has official.yml run on its pull request from a branch called main, and wait or fail: no hourly run begins.",
)  # fmt: skip
@pytest.mark.parametrize("conclusion", [None, "action_required", "failure"])
@pytest.mark.parametrize("event", ["pull_request", "pull_request_review"])
@pytest.mark.parametrize("count", [1, 6, 60])
def test_a_strangers_runs_of_the_official_workflow_keep_none_from_beginning(
    scene: Scene, conclusion: str | None, event: str, count: int
) -> None:
    ran(scene, *[conclusion] * count)
    for run in scene.world.runs.values():
        run.event = event

    assert look(scene)


@pytest.mark.parametrize("count", [60, 250])
def test_a_run_under_way_is_seen_behind_a_strangers(scene: Scene, count: int) -> None:
    ran(scene, *["action_required"] * count, None)
    for number, run in scene.world.runs.items():
        run.event = "push" if number == min(scene.world.runs) else "pull_request"

    assert not look(scene)


def test_what_one_job_hands_on_the_next_one_reads() -> None:
    built = SiteInputs(main="a" * 40, results=None, address="", dated=("no end date", "a: open"))

    assert parse_built(built.model_dump_json()) == built
    assert parse_built(json.dumps(built.model_dump(mode="json"), ensure_ascii=True)) == built
    for wrong in ("", "[]", built.model_dump_json().replace("a" * 40, "main"), "{"):
        with pytest.raises(CommandError, match="--built is not what"):
            parse_built(wrong)
