import pytest

from scripts.git.pull_request_guard import GuardedPaths
from scripts.github.official.failure_issues import FAILURE_ISSUE_TITLE, FAILURE_LABEL, PUBLISH_ISSUE_TITLE
from scripts.github.pull_request import reconcile, report_previews
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.judge_preview import PreviewCase
from scripts.github.pull_request.label_and_status import Outcome
from tests.github.world import BOT, Opened, WorkflowRun
from tests.leaderboard import make
from tests.scripts.git.tree_bombs import bomb, commit_tree
from tests.scripts.github.remotes import Clone, agent_files, git
from tests.scripts.github.scenes import POLE, Scene, previewed

MARKER = "<!-- pullrank:comment run={} -->\n"


def say(scene: Scene, sha: str, creator: str) -> None:
    """Somebody says `success` on a commit."""
    status = {"sha": sha, "state": "success", "context": "pullrank", "description": "", "target_url": ""}
    scene.world.statuses.append({**status, "creator": creator, "at": scene.world.now()})


def settle(scene: Scene) -> None:
    assert reconcile.reconcile_pulls(scene.context()) == 0


def test_judged_commits_cost_one_query_together(scene: Scene) -> None:
    sha = scene.bring()
    say(scene, sha, BOT)

    settle(scene)

    assert [line.replace("/api/graphql", "/graphql") for line in scene.standin.made()] == [
        "GET /issues",
        "GET /actions/workflows/preview.yml/runs",
        "POST /graphql",
        "GET /actions/workflows/official.yml/runs",
    ]


def test_a_report_that_was_lost_is_made_up_for(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha))

    settle(scene)

    assert scene.bodies()[0].startswith(MARKER.format(31))
    assert scene.statuses(sha)[0][0] == "success"
    assert scene.world.labelled[7] == ["preview-ok"]


def test_no_head_is_read_that_nobody_could_be_told_of(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hundreds of previews wait where an hour's requests are used up."""
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha))
    scene.world.left["core"] = report_previews.REPORTS_LEAVE_REQUESTS
    with monkeypatch.context() as patched:
        patched.setattr(report_previews, "outcome_without_scores", lambda context, case: pytest.fail("a head was read"))
        settle(scene)

    assert scene.bodies() == []
    assert "1 previews are reported by a later run: few of the hour's requests are left." in capsys.readouterr().err
    scene.world.left["core"] = 1000
    settle(scene)
    assert scene.bodies()[0].startswith(MARKER.format(31))


def test_a_conflict_is_explained_once(scene: Scene) -> None:
    sha = scene.bring()
    scene.world.pulls[7].mergeable = False

    settle(scene)
    first = scene.bodies()
    scene.standin.calls.clear()
    settle(scene)

    assert "conflict" in first[0].lower()
    assert first[0].startswith(MARKER.format(0))
    assert scene.bodies() == first
    assert scene.statuses(sha) == [("error", "not played: it conflicts with main; merge main into the branch")]
    assert scene.standin.writes() == []


def test_a_conflict_takes_the_place_of_an_older_preview_and_yields_to_a_later_one(scene: Scene) -> None:
    sha = scene.bring()
    scene.world.comment(7, BOT, MARKER.format(31) + "preview of an earlier commit")
    scene.world.pulls[7].mergeable = False
    settle(scene)
    assert scene.bodies()[0].startswith(MARKER.format(31))
    assert "earlier commit" not in scene.bodies()[0]
    scene.world.pulls[7].mergeable = True
    scene.ran(32, content=previewed(scene, sha))
    settle(scene)

    assert scene.bodies()[0].startswith(MARKER.format(32))


def test_while_github_does_not_know_of_a_conflict_nothing_is_said(scene: Scene) -> None:
    scene.bring()
    scene.world.pulls[7].mergeable = None

    settle(scene)

    assert scene.standin.writes() == []


def test_a_pull_request_that_touches_no_agent_is_told(scene: Scene) -> None:
    """The guard says `outside` only of commits that bring agents too: these are the host's own changes."""
    sha = scene.push({"README.md": b"newer\n"})

    settle(scene)

    assert scene.statuses(sha) == [("success", "touches no agent, so there is nothing to score")]
    assert len(scene.bodies()) == 1


def test_a_missing_run_is_told(scene: Scene) -> None:
    sha = scene.bring()

    settle(scene)

    assert scene.statuses(sha) == [("error", "not played: GitHub started no run; push again")]


@pytest.mark.attack(
    "many_pull_requests_without_a_run", family="bot", outcome="no request each",
    tries="Opens pull requests whose commits tell GitHub to run nothing, so that every hourly run asks about each alone.",
)  # fmt: skip
def test_pull_requests_without_a_run_cost_no_request_each(scene: Scene) -> None:
    for number in (7, 8, 9):
        scene.bring(number, source=b"x = %d\n" % number)
    settle(scene)

    settle(scene)

    assert [line for line in scene.standin.made() if "/pulls/" in line] == []
    assert [len(scene.bodies(number)) for number in (7, 8, 9)] == [1, 1, 1]


def test_a_run_that_waits_for_approval_is_told(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, conclusion="action_required")

    settle(scene)
    settle(scene)

    assert len(scene.bodies()) == 1
    assert scene.statuses(sha) == [("pending", "not played yet: a maintainer has to approve the run")]


def test_a_run_that_is_being_played_is_left_alone(scene: Scene) -> None:
    scene.bring()
    scene.ran(31, status="in_progress", conclusion=None)

    settle(scene)

    assert scene.standin.writes() == []


@pytest.mark.parametrize("conclusion", ["failure", "cancelled"])
def test_a_failure_of_ours_is_tried_three_times_then_reported_then_closed(scene: Scene, conclusion: str) -> None:
    sha = scene.bring()
    run = scene.ran(31, conclusion=conclusion)
    for _ in range(4):
        settle(scene)
        run.conclusion = conclusion
    assert scene.world.reruns == [31, 31]
    (issue,) = scene.world.issues.values()
    assert (issue.title, issue.labels, issue.author) == (FAILURE_ISSUE_TITLE, [FAILURE_LABEL], BOT)
    assert "the preview of #7 failed 3 times" in issue.body
    assert f"/issues/{issue.number}" in scene.bodies()[0]

    run.conclusion = "success"
    run.artifacts["preview"] = previewed(scene, sha)
    settle(scene)

    assert issue.state == "closed"
    assert scene.statuses(sha)[-1][0] == "success"


def test_a_preview_of_which_a_part_failed_on_our_side_is_tried_again(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha, returns=(), verdict="internal_error", message="engine"))

    settle(scene)

    assert scene.world.reruns == [31]
    assert scene.statuses(sha) == [("error", "a part failed on our side; it is tried again")]


def test_a_run_too_old_to_be_run_again_does_not_stop_the_others(scene: Scene) -> None:
    scene.bring()
    scene.ran(31, conclusion="failure")
    other = scene.bring(8)
    scene.world.go_wrong("POST", "/rerun$", status=403, message="Unable to retry this workflow run")

    settle(scene)

    assert scene.statuses(other)[0][0] == "error"


def test_a_pull_request_that_cannot_be_settled_does_not_stop_the_others(scene: Scene) -> None:
    broken, good = scene.bring(8), scene.bring(7, source=b"x = 7\n")
    scene.ran(31, content=previewed(scene, good))
    say(scene, broken, "somebody")
    scene.world.go_wrong("GET", f"/commits/{broken}/statuses", status=422, message="No commit found", times=9)

    settle(scene)

    assert scene.statuses(good)[0][0] == "success"
    assert "#8 could not be settled" in next(iter(scene.world.issues.values())).body


def test_an_exception_that_nobody_foresaw_is_one_pull_requests_alone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = scene.bring(8), scene.bring(7, source=b"x = 7\n")
    scene.ran(31, number=8, content=previewed(scene, second))
    scene.ran(32, number=7, content=previewed(scene, second))
    score = report_previews.scored_outcome

    def surprised(context: BotContext, case: PreviewCase, paths: GuardedPaths) -> Outcome:
        if case.pull.number == 8:
            raise RecursionError("a stranger's \x1b[31mwords")
        return score(context, case, paths)

    monkeypatch.setattr(report_previews, "scored_outcome", surprised)
    settle(scene)

    assert scene.statuses(first) == []
    assert scene.statuses(second)[0][0] == "success"
    assert "#8 could not be settled" in next(iter(scene.world.issues.values())).body
    printed = "".join(capsys.readouterr())
    assert "#8: RecursionError" in printed
    assert "words" not in printed


def test_the_refused_are_told_before_any_preview_is_scored(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    good = scene.bring(7)
    scene.ran(31, number=7, content=previewed(scene, good))
    bad = scene.push({**agent_files("alice"), "evaluator/e.py": b"score = 1e9\n"}, 9)
    scene.ran(32, number=9)
    asleep = []

    def dies(context: BotContext, case: PreviewCase, paths: GuardedPaths) -> Outcome:
        asleep.append([scene.statuses(sha) for sha in (good, bad)])
        raise KeyboardInterrupt

    monkeypatch.setattr(report_previews, "scored_outcome", dies)
    with pytest.raises(KeyboardInterrupt):
        reconcile.reconcile_pulls(scene.context())

    ((of_good, of_bad),) = asleep
    assert (of_good, of_bad[0][0]) == ([], "failure")


@pytest.mark.parametrize("has_run", [True, False])
def test_trees_that_unfold_without_end_are_refused_once(scene: Scene, has_run: bool) -> None:
    scene.bring(7)
    fork = Clone(scene.place / "fork-7")
    sha = commit_tree(fork, "submissions/alice/a", bomb(fork.path, 8), scene.clone.head)
    git(fork.path, "push", "-q", "--force", "origin", f"{sha}:refs/pull/7/head")
    scene.world.pulls[7].head_sha = sha
    if has_run:
        scene.ran(31, conclusion="failure")

    settle(scene)
    assert scene.statuses(sha)[0][0] == "failure"
    assert "holds more than can be listed" in scene.bodies()[0]
    scene.standin.calls.clear()
    settle(scene)
    assert len([one for one in scene.standin.made() if "graphql" in one]) == 1
    assert scene.standin.writes() == []
    assert not [one for one in scene.standin.made() if one.startswith("GET /actions/runs")]


def test_official_evaluations_that_were_given_up_are_reported(scene: Scene) -> None:
    entry = scene.entry(scene.clone.head, "bob")
    failed = [
        make.result(entry, on=POLE, key="c" * 64, verdict="internal_error", at=f"2026-01-0{day}T00:00:00Z")
        for day in (1, 2, 3)
    ]
    scene.record(*failed[:2])
    settle(scene)
    assert scene.world.issues == {}
    scene.record(*failed)
    settle(scene)
    (issue,) = scene.world.issues.values()
    assert "bob/a on CartPole-v1 has no official result" in issue.body

    scene.record(make.result(entry, (1.0,), on=POLE, key="c" * 64))
    settle(scene)

    assert issue.state == "closed"


def test_official_runs_that_keep_failing_are_reported(scene: Scene) -> None:
    path = ".github/workflows/official.yml"
    for run_id, conclusion in ((41, "failure"), (42, "cancelled"), (43, "failure"), (44, "timed_out"), (45, None)):
        scene.world.runs[run_id] = WorkflowRun(run_id, "a" * 40, "schedule", path, "main", conclusion=conclusion)

    settle(scene)

    assert "the last 3 official runs failed" in next(iter(scene.world.issues.values())).body


def test_doubled_issues_are_healed_and_those_of_others_left_alone(scene: Scene) -> None:
    scene.world.issues[90] = Opened(90, BOT, FAILURE_ISSUE_TITLE, "old", [FAILURE_LABEL])
    scene.world.issues[91] = Opened(91, BOT, FAILURE_ISSUE_TITLE, "old", [FAILURE_LABEL])
    scene.world.issues[92] = Opened(92, "eve", FAILURE_ISSUE_TITLE, "old", [FAILURE_LABEL])
    scene.bring()
    scene.ran(31, conclusion="failure", attempt=3)

    settle(scene)

    assert {number: issue.state for number, issue in scene.world.issues.items()} == {90: "open", 91: "closed", 92: "open"}
    assert "#7" in scene.world.issues[90].body


@pytest.mark.parametrize(
    ("runs", "state"),
    [
        ([(41, "failure"), (43, None)], "open"),  # the run that this is a part of has just opened it
        ([(41, "success"), (43, None)], "open"),  # an earlier one
        ([(41, "failure"), (42, "failure"), (43, None)], "open"),
        ([(41, "failure"), (42, "success"), (43, None)], "closed"),
        ([(41, "failure"), (42, "success"), (43, "cancelled"), (44, None)], "closed"),
        ([], "open"),
    ],
)
def test_the_issue_of_a_round_without_results_is_closed_by_a_later_run_that_succeeds(
    scene: Scene, runs: list[tuple[int, str | None]], state: str
) -> None:
    named = "<!-- pullrank:publish run=41 -->\nWhat the official run was asked for …"
    scene.world.issues[90] = Opened(90, BOT, PUBLISH_ISSUE_TITLE, named, [FAILURE_LABEL])
    scene.world.issues[91] = Opened(91, "eve", PUBLISH_ISSUE_TITLE, named, [FAILURE_LABEL])
    for run_id, conclusion in runs:
        path = ".github/workflows/official.yml"
        scene.world.runs[run_id] = WorkflowRun(run_id, "a" * 40, "schedule", path, "main", conclusion=conclusion)

    settle(scene)

    assert (scene.world.issues[90].state, scene.world.issues[91].state) == (state, "open")
    assert scene.world.issues[90].body == named


# Attacks


@pytest.mark.attack(
    "status_written_by_somebody_else", family="bot", outcome="the bot judges the commit itself",
    tries="Writes the bot's commit status with another account.",
)  # fmt: skip
def test_attack_17_a_status_that_somebody_else_wrote_is_no_verdict(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha, returns=(), verdict="crashed"))
    say(scene, sha, "eve")

    settle(scene)

    assert scene.statuses(sha)[-1][0] == "failure"


def test_attack_5_a_push_while_it_is_settled_silences_it(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha))
    scene.world.when("GET", "/zip$", lambda: setattr(scene.world.pulls[7], "head_sha", "f" * 40))

    settle(scene)

    assert scene.standin.writes() == []


@pytest.mark.attack(
    "lost_report_of_a_changed_evaluator", family="bot", outcome="no score",
    tries="Loses the report of a preview by a changed evaluator, so that the hourly run makes it.",
)  # fmt: skip
def test_attack_1_a_lost_report_of_a_changed_evaluator_is_no_score(scene: Scene) -> None:
    sha = scene.push({**agent_files("alice"), "evaluator/e.py": b"score = 1e9\n"})
    scene.ran(31, content=previewed(scene, sha))

    settle(scene)

    assert scene.statuses(sha)[0][0] == "failure"
    assert scene.world.labelled[7] == ["needs-review"]


@pytest.mark.attack(
    "label_of_the_commit_between", family="bot", outcome="the hourly run takes the label and the score back",
    tries="Is refused for changing the evaluator, is found good with another commit, and goes back to the refused one while "
    "nobody is told that a run began, or GitHub starts none.",
)  # fmt: skip
@pytest.mark.parametrize("has_run", [True, False])
def test_who_goes_back_to_a_refused_commit_keeps_no_good_label(scene: Scene, has_run: bool) -> None:
    """A refusal is final, so this commit was never looked at again: `preview-ok` and a score stood beside the failure."""
    refused = scene.push({**agent_files("alice"), "evaluator/e.py": b"score = 1e9\n"})
    if has_run:
        scene.ran(31, content=previewed(scene, refused))
    settle(scene)
    good = scene.bring()
    scene.ran(32, content=previewed(scene, good))
    settle(scene)
    assert scene.world.labelled[7] == ["preview-ok"]
    scene.world.pulls[7].head_sha = refused

    settle(scene)

    assert scene.world.labelled[7] == ["needs-review"]
    (body,) = scene.bodies()
    assert "evaluator/e.py" in body
    scene.standin.calls.clear()
    settle(scene)
    assert scene.standin.writes() == []


@pytest.mark.attack(
    "label_beside_a_change_without_agents", family="bot", outcome="the hourly run takes the label and the score back",
    tries="Changes the evaluator alone, which is told as touching no agent, is found good with a commit of its agent, and "
    "goes back to the first one, of which GitHub plays nothing.",
)  # fmt: skip
def test_who_goes_back_to_a_commit_without_agents_keeps_no_good_label(scene: Scene) -> None:
    """That commit's status was good, too, and final: `preview-ok` and a score stood beside a change of the evaluator."""
    changed = scene.push({"evaluator/e.py": b"score = 1e9\n"})
    settle(scene)
    assert scene.statuses(changed)[-1] == ("success", "touches no agent, so there is nothing to score")
    good = scene.bring()
    scene.ran(32, content=previewed(scene, good))
    settle(scene)
    assert scene.world.labelled[7] == ["preview-ok"]
    scene.world.pulls[7].head_sha = changed

    settle(scene)

    assert not scene.world.labelled.get(7)
    (body,) = scene.bodies()
    assert changed[:7] in body
    scene.standin.calls.clear()
    settle(scene)
    assert scene.standin.writes() == []


@pytest.mark.attack(
    "failures_that_hide_others", family="bot", outcome="the board's own come first",
    tries="Breaks the previews of a hundred pull requests, so that the bot's issue has no room for what fails on the board.",
)  # fmt: skip
def test_many_broken_previews_do_not_hide_what_fails_on_the_board(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(context: BotContext, runs: object, faults: list[str], *, is_complete: bool) -> report_previews.Backlog:
        faults += [f"#{number} could not be settled" for number in range(200)]
        return report_previews.Backlog()

    monkeypatch.setattr(reconcile, "find_backlog", found)
    path = ".github/workflows/official.yml"
    for run_id in (41, 42, 43):
        scene.world.runs[run_id] = WorkflowRun(run_id, "a" * 40, "schedule", path, "main", conclusion="failure")

    settle(scene)

    (issue,) = scene.world.issues.values()
    assert "the last 3 official runs failed" in issue.body
