from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from evaluator.model.config.moderation import Erasure, Moderation
from evaluator.model.records.preview import MAX_AGENTS, MAX_FAULTS, Preview, PreviewedAgent
from scripts.github.api.client import GitHubError
from scripts.github.preview.preview_artifact import read_artifact
from scripts.github.pull_request import judge_preview, report_previews
from scripts.repository.moderation_file import with_entry
from scripts.runs.eligible_tasks import read_new_agent
from scripts.standings.recorded_standings import erased_entries
from tests.github.world import BOT, WorkflowRun
from tests.leaderboard import make
from tests.scripts.github.remotes import agent_files
from tests.scripts.github.scenes import POLE, Scene, completed, previewed, zipped

MARKER = "<!-- pullrank:comment run={} -->\n"


def tell(scene: Scene, run_id: int) -> None:
    """A preview run has moved."""
    assert report_previews.report_preview(scene.context("workflow_run", completed(run_id))) == 0


def played(scene: Scene, run_id: int = 31) -> str:
    """Alice's pull request, and a preview that scored."""
    sha = scene.bring()
    scene.ran(run_id, content=previewed(scene, sha))
    return sha


def test_a_score_is_commented_labelled_and_said_on_the_commit(scene: Scene) -> None:
    sha = played(scene)

    tell(scene, 31)

    (body,) = scene.bodies()
    assert body.startswith(MARKER.format(31))
    assert "Preview" in body
    assert sha[:7] in body
    assert scene.world.labelled[7] == ["preview-ok"]
    assert scene.statuses(sha) == [("success", "preview: 1 of 1 evaluations scored; unofficial until merged")]
    assert scene.summary == body
    assert [line for line in scene.standin.made() if "graphql" not in line] == [
        "GET /actions/runs/31",
        "GET /pulls",
        "GET /actions/runs/31/artifacts",
        "GET /actions/artifacts/310/zip",
        "GET /labels",
        "POST /labels",
        f"POST /statuses/{sha}",
    ]
    assert scene.standin.writes()[-3:] == ["addComment", "addLabelsToLabelable", f"POST /statuses/{sha}"]


def test_the_next_commit_edits_the_same_comment(scene: Scene) -> None:
    played(scene)
    tell(scene, 31)
    sha = scene.bring(source=b"x = 2\n")
    scene.ran(32, content=previewed(scene, sha, verdict="crashed", returns=(), message="boom"))

    tell(scene, 32)

    (body,) = scene.bodies()
    assert body.startswith(MARKER.format(32))
    assert sha[:7] in body
    assert scene.world.labelled[7] == ["needs-changes"]
    assert scene.statuses(sha) == [("failure", "1 of 1 evaluations failed; the comment says why")]


def test_telling_twice_changes_nothing_more(scene: Scene) -> None:
    played(scene)
    tell(scene, 31)
    scene.standin.calls.clear()

    tell(scene, 31)

    assert scene.standin.writes() == []


def test_the_log_of_the_artifact_is_shown_in_a_fence(scene: Scene) -> None:
    sha = scene.bring()
    one = _read(scene, sha, returns=(), verdict="crashed", message="boom")
    log = b"| == alice/a on CartPole-v1: crashed\n| > last words @maintainer\n"
    scene.ran(31, content=zipped(one, log))

    tell(scene, 31)

    assert "last words @maintainer" in scene.bodies()[0]


def test_a_run_that_has_begun_is_announced_as_running(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, status="in_progress", conclusion=None)

    tell(scene, 31)

    assert scene.statuses(sha) == [("pending", "the preview is being played")]
    assert scene.world.labelled.get(7, []) == []


def test_a_run_that_waits_for_approval_says_so(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, conclusion="action_required")

    tell(scene, 31)

    assert scene.statuses(sha) == [("pending", "not played yet: a maintainer has to approve the run")]
    assert scene.world.labelled[7] == ["needs-review"]


def test_a_withdrawal_is_explained(scene: Scene) -> None:
    sha = scene.push(dict.fromkeys(agent_files("bob")), author="bob")
    scene.ran(31)

    tell(scene, 31)

    assert "withdraws" in scene.bodies()[0]
    assert scene.statuses(sha) == [("success", "withdraws an agent of its author")]


@pytest.mark.parametrize("conclusion", ["failure", "cancelled", "timed_out", "startup_failure"])
def test_a_run_that_failed_is_our_fault(scene: Scene, conclusion: str) -> None:
    sha = scene.bring()
    scene.ran(31, conclusion=conclusion)

    tell(scene, 31)

    assert f"the preview run ended as '{conclusion}'" in scene.bodies()[0]
    assert scene.statuses(sha) == [("error", "failed on our side; it is tried again")]


def test_a_missing_artifact_is_our_fault(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, attempt=3)

    tell(scene, 31)

    assert "left no artifact" in scene.bodies()[0]
    assert scene.statuses(sha) == [("error", "failed on our side; the maintainers were told")]


def test_a_robots_pull_request_gets_a_status_and_no_comment(scene: Scene) -> None:
    scene.world.person("dependabot[bot]", 9, "Bot")
    sha = scene.push({"README.md": b"newer\n"}, author="dependabot[bot]")
    scene.ran(31)

    tell(scene, 31)

    assert scene.bodies() == []
    assert scene.statuses(sha)[0][0] == "failure"


def test_a_verified_run_reports_itself(scene: Scene) -> None:
    sha = scene.bring()
    own = WorkflowRun(
        500, scene.clone.head, event="workflow_dispatch", path=".github/workflows/evaluate.yml", head_branch="main"
    )
    own.status, own.conclusion = "in_progress", None
    own.artifacts["preview"] = previewed(scene, sha)
    scene.world.runs[500] = own

    report_previews.report_preview(scene.context("workflow_dispatch", {"inputs": {"pull": "7", "sha": sha}}))

    assert scene.bodies()[0].startswith(MARKER.format(500))
    assert scene.statuses(sha)[0][0] == "success"


def test_a_verified_run_of_an_older_commit_tells_nobody(scene: Scene) -> None:
    old = scene.bring()
    scene.bring(source=b"x = 2\n")

    report_previews.report_preview(scene.context("workflow_dispatch", {"inputs": {"pull": "7", "sha": old}}))

    assert scene.standin.writes() == []


# The attacks of shared/github.md that end here


@pytest.mark.attack(
    "evaluator_changed_in_the_pull_request", family="bot", outcome="no score, and a person is asked",
    tries="Changes the evaluator in the same pull request and brings an artifact with a score.",
)  # fmt: skip
def test_attack_1_a_commit_that_changes_the_evaluator_gets_no_score(scene: Scene) -> None:
    sha = scene.push({**agent_files("alice"), "evaluator/e.py": b"score = 1e9\n"})
    scene.ran(31, content=previewed(scene, sha, returns=(1e9,)))

    tell(scene, 31)

    (body,) = scene.bodies()
    assert "evaluator/e.py" in body
    assert "1000000000" not in body.replace(",", "")
    assert scene.world.labelled[7] == ["needs-review"]
    assert scene.statuses(sha)[0][0] == "failure"
    assert not any("artifacts" in call for call in scene.standin.made())


@pytest.mark.attack(
    "workflow_of_the_same_name", family="bot", outcome="nothing is written",
    tries="Adds a workflow called like the preview and lets it hand in a score.",
)  # fmt: skip
def test_attack_3_another_workflow_of_the_same_name_tells_nobody(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha), path=".github/workflows/evil.yml")
    scene.ran(32, content=previewed(scene, sha), event="push")

    tell(scene, 31)
    tell(scene, 32)

    assert scene.standin.writes() == []


@pytest.mark.attack(
    "artifact_for_another_pull_request", family="bot", outcome="told as broken, the other is left alone",
    tries="Names another pull request's commit in one's own artifact.",
)  # fmt: skip
def test_attack_4_an_artifact_cannot_choose_the_pull_request(scene: Scene) -> None:
    victim = scene.bring(8, "eve")
    sha = scene.bring()
    scene.ran(31, content=zipped(_read(scene, sha).model_copy(update={"head_sha": victim})))

    tell(scene, 31)

    assert scene.bodies(8) == []
    assert scene.statuses(victim) == []
    assert "played another commit" in scene.bodies(7)[0]


def _read(scene: Scene, sha: str, **fields: Any) -> Preview:
    return read_artifact(previewed(scene, sha, **fields))[0]


@pytest.mark.attack(
    "artifact_with_agents_of_others", family="bot", outcome="told as broken, no score",
    tries="Puts scores of other people's agents into one's artifact.",
)  # fmt: skip
def test_attack_4_an_artifact_cannot_score_agents_of_others(scene: Scene) -> None:
    sha = scene.bring()
    agent = PreviewedAgent(login="bob", agent="a", submission_digest="d" * 64, name="Test")
    scene.ran(31, content=zipped(Preview(schema=1, head_sha=sha, evaluator_sha="e" * 40, agents=(agent,))))

    tell(scene, 31)

    assert "an agent that this pull request does not change" in scene.bodies()[0]
    assert scene.statuses(sha)[0][0] == "error"


def hand_in_scores(scene: Scene, sha: str, agents: Iterable[str]) -> None:
    """The preview of alice's commit names these agents, each with a score and no fault."""
    entries = [scene.entry(sha, agent=agent) for agent in agents]
    results = [make.result(entry, (9.0,), on=POLE, **{"class": "preview", "beacon": "preview"}) for entry in entries]
    previewed_agents = tuple(
        PreviewedAgent(login="alice", agent=result.agent, submission_digest=result.submission_digest, results=(result,))
        for result in results
    )
    scene.ran(31, content=zipped(Preview(schema=1, head_sha=sha, evaluator_sha="e" * 40, agents=previewed_agents)))


UNCLEAR = "name: A\u00a0name\nalgorithm: none\n".encode()


@pytest.mark.attack(
    "artifact_without_a_fault_of_the_folder", family="bot", outcome="refused with the manifest's line",
    tries="Hands in scores and no fault of a folder whose name hides a letter, as who took over the preview's job may.",
)  # fmt: skip
@pytest.mark.attack(
    "artifact_without_the_faulty_agent", family="bot", outcome="told as broken, no score",
    tries="Hands in the scores of one of its agents, and leaves out the other one, which no maintainer would merge.",
)  # fmt: skip
@pytest.mark.parametrize("named", [("a",), ("a", "b"), ("b",)])
def test_attack_6_an_artifact_does_not_say_which_folders_are_good(scene: Scene, named: tuple[str, ...]) -> None:
    sha = scene.push({**agent_files("alice", "a", b"x = 1\n"), **agent_files("alice", "b", b"x = 2\n", UNCLEAR)})
    hand_in_scores(scene, sha, named)

    tell(scene, 31)

    (status,) = scene.statuses(sha)
    if len(named) == 2:
        assert status == ("failure", "no score: the folder breaks a rule; the comment says which")
        assert "submissions/alice/b/submission.yml:1: 'name' " in scene.bodies()[0]
        assert scene.world.labelled[7] == ["needs-changes"]
    else:
        assert status[0] == "error"
        assert "left out an agent that this pull request changes" in scene.bodies()[0]


def test_attack_6_a_waiting_agent_is_read_though_no_preview_has_room_for_it(scene: Scene) -> None:
    sources = {f"a{number}": b"x = %d\n" % number for number in range(MAX_AGENTS)}
    files = {
        path: content for agent, source in sources.items() for path, content in agent_files("alice", agent, source).items()
    }
    sha = scene.push({**files, **agent_files("alice", "z", b"x = 9\n", UNCLEAR)})
    hand_in_scores(scene, sha, sources)

    tell(scene, 31)

    assert scene.statuses(sha) == [("failure", "no score: the folder breaks a rule; the comment says which")]


def test_attack_6_no_more_folders_are_read_than_faults_are_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = b"name: x\nalgorithm: y\n" + b"".join(b"k%d: 1\n" % number for number in range(MAX_FAULTS))
    files = [agent_files("alice", f"a{number}", b"x = %d\n" % number, faulty) for number in range(MAX_AGENTS + 3)]
    sha = scene.push({path: content for each in files for path, content in each.items()})
    told = tuple(PreviewedAgent(login="alice", agent=f"a{number}", faults=("no",)) for number in range(MAX_AGENTS))
    scene.ran(31, content=zipped(Preview(schema=1, head_sha=sha, evaluator_sha="e" * 40, agents=told)))
    read = []
    monkeypatch.setattr(judge_preview, "read_new_agent", lambda *given: read.append(given[2]) or read_new_agent(*given))

    tell(scene, 31)

    assert read == [f"submissions/alice/a{MAX_AGENTS}"]
    assert scene.statuses(sha) == [("failure", "no score: the folder breaks a rule; the comment says which")]


@pytest.mark.attack(
    "artifact_of_another_version", family="bot", outcome="told as broken, no score",
    tries="Hands in scores under the digest of another version than the one that it proposes.",
)  # fmt: skip
def test_attack_6_an_artifact_is_of_the_commits_files(scene: Scene) -> None:
    sha = scene.bring()
    entry = replace(scene.entry(sha), digest="d" * 64)
    result = make.result(entry, (9.0,), on=POLE, **{"class": "preview", "beacon": "preview"})
    agent = PreviewedAgent(login="alice", agent="a", submission_digest=entry.digest, results=(result,))
    scene.ran(31, content=zipped(Preview(schema=1, head_sha=sha, evaluator_sha="e" * 40, agents=(agent,))))

    tell(scene, 31)

    assert "played other files than the commit has" in scene.bodies()[0]
    assert scene.statuses(sha)[0][0] == "error"


@pytest.mark.attack(
    "artifact_of_ten_thousand_episodes", family="bot", outcome="told as broken, no score",
    tries="Claims more episodes than a task has, so that each preview takes the report seconds and 200 megabytes.",
)  # fmt: skip
def test_attack_6_an_artifact_has_no_more_episodes_than_the_task(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha, (9.0,) * 101))

    tell(scene, 31)

    assert "counted more episodes than the task has" in scene.bodies()[0]
    assert scene.statuses(sha)[0][0] == "error"


@pytest.mark.attack(
    "artifact_of_another_account", family="bot", outcome="told as broken, no score",
    tries="Hands in scores under a rival's account number, so that its own tries are not counted.",
)  # fmt: skip
def test_attack_4_an_artifact_cannot_name_another_account(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha, login_id=666))

    tell(scene, 31)

    assert "the preview run names an account that is not the author" in scene.bodies()[0]
    assert scene.statuses(sha)[0][0] == "error"


@pytest.mark.parametrize("sandbox", ["process", "gvisor"])
def test_a_preview_in_another_sandbox_than_the_boards_gets_no_place(scene: Scene, sandbox: str) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha, sandbox=sandbox))

    tell(scene, 31)

    assert f"the preview run played in {sandbox}, and this leaderboard evaluates in docker" in scene.bodies()[0]
    assert "Would place" not in scene.bodies()[0]
    assert scene.statuses(sha)[0][0] == "error"


@pytest.mark.attack(
    "branch_of_the_same_name_in_another_fork", family="bot", outcome="nothing is written",
    tries="Runs the preview in another fork, on a branch called like the victim's.",
)  # fmt: skip
def test_attack_4_a_branch_of_the_same_name_in_another_fork_tells_nobody(scene: Scene) -> None:
    sha = played(scene)
    scene.world.runs[31].fork_id = 4444

    tell(scene, 31)

    assert sha
    assert scene.standin.writes() == []


@pytest.mark.attack(
    "push_before_the_report", family="bot", outcome="the old score is not reported",
    tries="Pushes other code between the run and its report.",
)  # fmt: skip
def test_attack_5_a_push_before_the_report_silences_it(scene: Scene) -> None:
    played(scene)
    scene.bring(source=b"x = 2\n")

    tell(scene, 31)

    assert scene.standin.made() == ["GET /actions/runs/31", "GET /pulls"]


@pytest.mark.attack(
    "push_while_the_report_is_written", family="bot", outcome="nothing is written",
    tries="Pushes other code between the report's reading and its writing.",
)  # fmt: skip
def test_attack_5_a_push_between_reading_and_writing_silences_it(scene: Scene) -> None:
    played(scene)
    scene.world.when("GET", r"/zip$", lambda: setattr(scene.world.pulls[7], "head_sha", "f" * 40))

    tell(scene, 31)

    assert scene.standin.writes() == []


@pytest.mark.attack(
    "merge_while_the_report_is_written", family="bot", outcome="nothing is written",
    tries="Is merged between the report's reading and its writing.",
)  # fmt: skip
def test_attack_5_a_merge_between_reading_and_writing_silences_it(scene: Scene) -> None:
    played(scene)
    scene.world.when("GET", r"/artifacts", lambda: setattr(scene.world.pulls[7], "state", "closed"))

    tell(scene, 31)

    assert scene.standin.writes() == []


@pytest.mark.attack(
    "artifact_that_is_no_archive", family="supply", outcome="told as broken, never unpacked",
    tries="Hands in a bomb, a link or a path out of the folder as the preview's archive.",
)  # fmt: skip
@pytest.mark.parametrize("content", [b"not a zip", b"PK\x03\x04" + b"\0" * 60])
def test_attack_6_a_hostile_artifact_is_told_and_never_unpacked(scene: Scene, content: bytes) -> None:
    scene.bring()
    scene.ran(31, content=content)

    tell(scene, 31)

    assert "cannot be read" in scene.bodies()[0] or "zip" in scene.bodies()[0]


@pytest.mark.attack(
    "artifact_above_the_cap", family="bot", outcome="it is not fetched",
    tries="Hands in an artifact of gigabytes.",
)  # fmt: skip
def test_attack_6_an_artifact_above_the_cap_is_not_fetched(scene: Scene) -> None:
    scene.bring()
    scene.ran(31, content=b"0" * ((1 << 20) + 1))

    tell(scene, 31)

    assert "left no artifact" in scene.bodies()[0]
    assert not any(path.startswith("/storage/") for path, _ in scene.standin.authorizations)


@pytest.mark.attack(
    "log_that_closes_its_fence", family="bot", outcome="stays in the fence",
    tries="Closes the fence around its log to write Markdown as the bot.",
)  # fmt: skip
def test_attack_12_what_an_agent_says_stays_in_a_fence(scene: Scene) -> None:
    sha = scene.bring()
    evil = "````\n@everyone closes #1 <img src=x> <!-- pullrank:comment run=999999 -->"
    scene.ran(31, content=previewed(scene, sha, returns=(), verdict="crashed", message=evil))

    tell(scene, 31)
    scene.ran(32, content=previewed(scene, sha))
    tell(scene, 32)

    (body,) = scene.bodies()
    assert body.startswith(MARKER.format(32))


@pytest.mark.attack(
    "marker_of_the_bot_in_ones_own_comment", family="bot", outcome="the bot writes its own comment",
    tries="Writes the bot's hidden marker into a comment of one's own.",
)  # fmt: skip
def test_attack_13_a_marker_under_another_name_is_nothing(scene: Scene) -> None:
    played(scene)
    scene.world.person("github-actions", 67, "User")
    scene.world.person("another[bot]", 68, "Bot")
    spoofs = [
        scene.world.comment(7, name, MARKER.format(99_999_999_999_999) + "Score: 1e9")
        for name in ("eve", "github-actions", "another[bot]")
    ]
    spoofs.append(scene.world.comment(7, BOT, "No marker in the first line\n" + MARKER.format(99_999)))
    before = [spoof.body for spoof in spoofs]

    tell(scene, 31)

    assert [spoof.body for spoof in spoofs] == before
    assert "addComment" in scene.standin.writes()
    assert [body for body in scene.bodies() if body.startswith(MARKER.format(31))]


@pytest.mark.attack(
    "older_run_finishes_later", family="bot", outcome="the newer comment stays",
    tries="Lets an older run finish after the newer one, to show the better score.",
)  # fmt: skip
def test_attack_14_an_older_run_never_overwrites_a_newer_one(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha, returns=(1.0, 1.0)))
    scene.ran(32, content=previewed(scene, sha))
    tell(scene, 32)
    bodies, statuses = scene.bodies(), scene.statuses(sha)
    scene.standin.calls.clear()

    tell(scene, 31)

    assert scene.bodies() == bodies
    assert scene.statuses(sha) == statuses
    assert scene.standin.writes() == []


def test_attack_14_doubled_comments_are_healed(scene: Scene) -> None:
    played(scene)
    for run_id in (29, 30, 28):
        scene.world.comment(7, BOT, MARKER.format(run_id) + "old")
    first = next(iter(scene.world.comments))

    tell(scene, 31)

    (left,) = scene.world.comments.values()
    assert left.id == first
    assert left.body.startswith(MARKER.format(31))


def test_attack_14_two_reports_at_once_leave_one_comment_of_the_later_run(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha))
    later = MARKER.format(32) + "the later run's"
    scene.world.when("POST", r"addComment", lambda: scene.world.comment(7, BOT, later))

    tell(scene, 31)

    assert scene.bodies() == [later]


def test_attack_14_a_comment_whose_answer_was_lost_is_not_doubled(scene: Scene) -> None:
    played(scene)
    scene.world.go_wrong("POST", r"addComment", after=True)

    tell(scene, 31)

    assert len(scene.bodies()) == 1


@pytest.mark.attack(
    "folder_of_another", family="bot", outcome="no score, and a person is asked",
    tries="Changes another's agent in one's own pull request.",
)  # fmt: skip
def test_attack_16_the_folder_of_another_is_refused(scene: Scene) -> None:
    for index, path in enumerate(("submissions/bob", "SUBMISSIONS/alice", "submissions/Bob")):
        sha = scene.push({f"{path}/a/agent.py": b"x = 9\n"})
        scene.ran(40 + index, content=b"")
        tell(scene, 40 + index)

        assert scene.statuses(sha)[0][0] == "failure"
        assert path in scene.bodies()[0]


def test_a_token_without_the_right_is_an_error_of_one_line(scene: Scene) -> None:
    played(scene)
    scene.world.go_wrong("POST", r"addComment", status=403, message="Resource not accessible by integration")

    with pytest.raises(GitHubError, match="not accessible by integration"):
        report_previews.report_preview(scene.context("workflow_run", completed(31)))


@pytest.mark.attack(
    "erasure_that_lifts_others_in_comments", family="people", outcome="the place stays taken, also in comments",
    tries="Has the leader erased, so that the bot tells the next one the first place, which the site gives to nobody.",
)  # fmt: skip
def test_the_place_of_who_was_erased_stays_taken(scene: Scene) -> None:
    erased = Erasure(login="erased_0badcafe", agent="agent-01", digest="c" * 64, since="2026-01-01")
    (scene.clone.path / "moderation.yml").write_bytes(with_entry(b"", "erasures", erased))
    [entry] = erased_entries(Moderation(erasures=(erased,)))
    scene.record(make.result(entry, (100.0, 101.0, 102.0), on=POLE))
    played(scene)

    tell(scene, 31)

    assert "would take place 2 of 2" in scene.bodies()[0]
