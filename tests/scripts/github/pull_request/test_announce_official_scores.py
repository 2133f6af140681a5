from typing import Any

import pytest

from scripts.console import CommandError
from scripts.git.git_repository import GitRepository
from scripts.github.api.client import COMMENTS_LISTED, GitHub, GitHubError
from scripts.github.pull_request import announce_official_scores
from tests.github.world import BOT, PullRequest
from tests.leaderboard import make
from tests.scripts.github.remotes import agent_files
from tests.scripts.github.scenes import LAKE, POLE, Scene

MARKER = "<!-- pullrank:comment run={} -->\n"


def tell(scene: Scene, run_id: int = 500) -> None:
    assert announce_official_scores.announce_merged(scene.context("push", run_id=run_id)) == 0


def record_all(scene: Scene, at: str = make.NOON, returns: tuple[float, ...] = (9.0, 11.0)) -> None:
    """Official results of Alice's agent as it stands on main, beside what is recorded."""
    entry = scene.entry(scene.clone.head)
    scene.record(*(make.result(entry, returns, on=task, at=at) for task in (POLE, LAKE)))


def test_a_merge_is_told_its_official_scores_in_the_same_comment(scene: Scene) -> None:
    scene.bring()
    scene.world.comment(7, BOT, MARKER.format(31) + "preview")
    merged = scene.merge()
    record_all(scene)

    tell(scene)

    (body,) = scene.bodies()
    assert body.startswith(MARKER.format(500))
    assert merged[:7] in body
    assert "https://host.github.io/board/" in body
    assert scene.world.labelled[7] == ["official"]
    assert [line for line in scene.standin.made() if "graphql" not in line] == ["GET /labels", "POST /labels"]
    assert scene.standin.writes() == ["POST /labels", "updateIssueComment", "addLabelsToLabelable"]


def test_an_author_is_told_of_a_quarantine_and_then_of_the_replay(scene: Scene) -> None:
    """Also where everything had been told; what nothing is new about is not written again."""
    scene.bring()
    scene.merge()
    record_all(scene)
    tell(scene)
    quarantine = scene.clone.path / "moderation.yml"
    quarantine.write_text(
        "quarantines:\n  - since: '2025-12-31T00:00:00Z'\n    until: '2026-01-02T00:00:00Z'\n"
        f"    commit: {'a' * 40}\n    who: carol\n    why: the image was bad\n"
    )

    tell(scene, run_id=501)
    (body,) = scene.bodies()
    assert body.count("in quarantine since 2026-01-02, will be replayed") == 2
    assert scene.world.labelled[7] == []
    tell(scene, run_id=502)
    assert scene.bodies() == [body]

    record_all(scene, at="2026-01-03T12:00:00Z", returns=(20.0, 22.0))
    tell(scene, run_id=503)
    (body,) = scene.bodies()
    assert "quarantine" not in body
    assert "21" in body
    assert scene.world.labelled[7] == ["official"]


def bring_three(scene: Scene) -> None:
    """Three merges of three people, all of them measured."""
    for number, login in ((7, "alice"), (8, "carol"), (9, "dave")):
        scene.world.person(login, 10 * number)
        scene.bring(number, login)
        scene.merge(number)
        entry = scene.entry(scene.clone.head, login)
        scene.record(*(make.result(entry, (9.0, 11.0), on=task) for task in (POLE, LAKE)))


@pytest.mark.parametrize("step", ["render_comment", "read_merge"])
def test_a_merge_whose_text_cannot_be_written_keeps_no_other_from_being_told(
    scene: Scene, step: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bring_three(scene)
    whole = getattr(announce_official_scores, step)
    calls: list[object] = []

    def fail_once(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 2:
            raise ValueError("secret words")
        return whole(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(announce_official_scores, step, fail_once)
        with pytest.raises(CommandError) as failure:
            tell(scene)

    (untold,) = [number for number in (7, 8, 9) if not scene.bodies(number)]
    assert f"#{untold} could not be settled; the log of the run says why" in str(failure.value)
    assert f"#{untold}: ValueError, which is a defect of the bot; report it" in (log := capsys.readouterr().err)
    assert "secret words" not in log
    tell(scene)
    assert len(scene.bodies(untold)) == 1


def test_each_further_merge_costs_few_requests(scene: Scene) -> None:
    """All jobs of a repository share a thousand requests in an hour."""
    bring_three(scene)

    tell(scene)

    assert [len(scene.bodies(number)) for number in (7, 8, 9)] == [1, 1, 1]
    assert [line for line in scene.standin.made() if "graphql" not in line] == ["GET /labels", "POST /labels"]
    # List the merges, read, two about the label, write, and read what was created.
    assert len([line for line in scene.standin.made() if "graphql" in line]) == 6


@pytest.mark.attack(
    "many_comments_on_merged_pull_requests", family="bot", outcome="no request more",
    tries="Comments on merged pull requests that still wait for scores, so that each costs every official run requests.",
)  # fmt: skip
def test_comments_of_others_after_ours_are_not_read(scene: Scene) -> None:
    scene.bring()
    scene.world.comment(7, BOT, MARKER.format(31) + "preview")
    for _ in range(20):
        scene.world.comment(7, "eve", "first!")
    scene.merge()
    tell(scene)  # that scores are awaited

    tell(scene, 501)
    assert list(announce_official_scores.pulls_with_news(scene.context())) == []

    assert [body for body in scene.world.said(7) if body.startswith(MARKER.format(500))]
    assert [line for line in scene.standin.made() if "graphql" not in line] == []


def test_where_others_wrote_first_no_merge_is_looked_at_once_few_requests_are_left(scene: Scene) -> None:
    bring_three(scene)
    for _ in range(20):
        scene.world.comment(8, "eve", "first!")
    scene.world.left["core"] = 60
    scene.github.issues_by_label("none")

    tell(scene)

    assert [line for line in scene.standin.made() if "comments" in line] == []


@pytest.mark.attack(
    "comments_of_a_merge_too_many_to_be_listed", family="bot", outcome="everybody else is told, and no run fails",
    tries="Writes so long comments on a merged pull request that official runs fail, and are started less often.",
)  # fmt: skip
def test_comments_that_github_gives_up_keep_no_other_merge_from_being_told_and_start_no_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the job fail: after official runs that failed, the next ones are started less and less often."""
    bring_three(scene)
    for _ in range(12):
        scene.world.comment(8, "carol", "long")
    send = GitHub._send

    def gives_up(github: GitHub, method: str, url: str, *arguments: Any) -> Any:
        if url.endswith("/issues/8/comments"):
            raise GitHubError(502, "GitHub answered 502")
        return send(github, method, url, *arguments)

    monkeypatch.setattr(GitHub, "_send", gives_up)

    tell(scene)

    assert [len(scene.bodies(number)) for number in (7, 8, 9)] == [1, 0, 1]


@pytest.mark.attack(
    "flood_on_a_merge_that_waits", family="bot", outcome="no run is started for it",
    tries="Floods a merged pull request that waits for its quota, so that every hour an official run starts to tell it.",
)  # fmt: skip
def test_a_merge_that_is_told_by_no_comment_is_no_news(scene: Scene) -> None:
    scene.bring()
    for _ in range(COMMENTS_LISTED + 1):
        scene.world.comment(7, "alice", "first!")
    scene.merge()

    assert list(announce_official_scores.pulls_with_news(scene.context())) == []
    record_all(scene)
    assert list(announce_official_scores.pulls_with_news(scene.context())) == [7]
    tell(scene)
    assert scene.world.labelled[7] == ["official"]


def test_each_further_merge_lists_its_authors_folders_alone(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what is told of the last of a thousand merges lists a thousand agents, four times."""
    bring_three(scene)
    listed = []
    original = GitRepository.leaves
    monkeypatch.setattr(
        GitRepository, "leaves", lambda *given, **named: listed.append(given[1:]) or original(*given, **named)
    )

    tell(scene)

    assert [len(scene.bodies(number)) for number in (7, 8, 9)] == [1, 1, 1]
    # Once, for the standings.
    assert [folder for _, folder in listed].count("submissions") == 1


def test_requests_are_left_for_others_and_the_rest_is_told_an_hour_later(
    scene: Scene, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bring_three(scene)
    monkeypatch.setattr(announce_official_scores, "DELIVERED_AT_ONCE", 1)
    scene.world.left["graphql"] = announce_official_scores.ANNOUNCEMENTS_LEAVE + 5

    tell(scene)

    announced = [number for number in (7, 8, 9) if scene.bodies(number)]
    assert 1 <= len(announced) < 3
    assert scene.world.left["graphql"] > announce_official_scores.ANNOUNCEMENTS_LEAVE - 10
    assert f"{3 - len(announced)} merged pull requests are told by a later run" in capsys.readouterr().err
    scene.world.left["graphql"] = 1000
    scene.github._left.clear()  # A later run has a client of its own.
    tell(scene, 501)
    assert [len(scene.bodies(number)) for number in (7, 8, 9)] == [1, 1, 1]


def test_a_run_tells_no_more_than_github_lets_it_write(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announce_official_scores, "PULLS_PER_RUN", 2)
    bring_three(scene)

    tell(scene)
    assert sum(len(scene.bodies(number)) for number in (7, 8, 9)) == 2
    tell(scene, 501)
    assert [len(scene.bodies(number)) for number in (7, 8, 9)] == [1, 1, 1]


def test_those_that_wait_for_a_result_do_not_hide_one_that_has_it(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, login in ((7, "alice"), (8, "carol"), (9, "dave")):
        scene.world.person(login, 10 * number)
        scene.bring(number, login)
        scene.merge(number)
    tell(scene)
    assert [scene.world.labelled.get(number, []) for number in (7, 8, 9)] == [[], [], []]

    record_all(scene)
    monkeypatch.setattr(announce_official_scores, "PULLS_PER_RUN", 1)
    assert list(announce_official_scores.pulls_with_news(scene.context("push", run_id=501))) == [7]
    tell(scene, 501)

    assert [scene.world.labelled.get(number, []) for number in (7, 8, 9)] == [["official"], [], []]


def test_hundreds_that_were_told_do_not_hide_one_that_was_not(scene: Scene) -> None:
    scene.bring()
    scene.merge()
    record_all(scene)
    for number in range(100, 700):
        merged = PullRequest(number, "bob", "b" * 40, state="closed", merged=True, merge_commit_sha="b" * 40)
        scene.world.pulls[number], scene.world.labelled[number] = merged, ["official"]

    tell(scene)

    assert len(scene.bodies(7)) == 1


def test_what_was_told_is_not_told_again(scene: Scene) -> None:
    scene.bring()
    scene.merge()
    record_all(scene)
    tell(scene)
    scene.standin.calls.clear()

    tell(scene, 501)

    assert scene.standin.made() == ["POST /graphql"]


def test_what_is_not_recorded_yet_is_said_and_looked_at_again(scene: Scene) -> None:
    scene.bring()
    scene.merge()
    scene.record(make.result(scene.entry(scene.clone.head), (9.0, 11.0), on=POLE))

    tell(scene)
    assert "Not yet recorded" in scene.bodies()[0]
    assert scene.world.labelled.get(7, []) == []
    scene.standin.calls.clear()
    tell(scene, 501)
    assert scene.standin.writes() == []
    record_all(scene)
    tell(scene, 502)

    assert "Not yet recorded" not in scene.bodies()[0]
    assert scene.world.labelled[7] == ["official"]


def test_a_version_that_was_replaced_keeps_its_own_score(scene: Scene) -> None:
    scene.bring(7)
    scene.merge(7)
    record_all(scene)
    scene.bring(8, source=b"x = 2\n")
    scene.merge(8)

    tell(scene)

    assert scene.world.labelled == {7: ["official"]}
    assert "Not yet recorded" not in scene.bodies(7)[0]
    assert "10" in scene.bodies(7)[0]
    assert "next" in scene.bodies(8)[0] or "Not yet recorded" in scene.bodies(8)[0]


def test_a_version_that_was_replaced_before_it_was_played_is_not_waited_for(scene: Scene) -> None:
    scene.bring(7)
    scene.merge(7)
    scene.bring(8, source=b"x = 2\n")
    scene.merge(8)

    tell(scene)

    assert scene.world.labelled == {7: ["official"]}


def test_a_withdrawal_is_told(scene: Scene) -> None:
    scene.push(dict.fromkeys(agent_files("bob")), author="bob")
    scene.merge()

    tell(scene)

    assert "Withdrawn" in scene.bodies()[0]
    assert "bob/a" in scene.bodies()[0]
    assert scene.world.labelled[7] == ["official"]


def test_an_agent_that_was_withdrawn_later_is_told(scene: Scene) -> None:
    scene.bring(7)
    scene.merge(7)
    scene.push(dict.fromkeys(agent_files("alice")), 8)
    scene.merge(8)

    tell(scene)

    assert "Withdrawn" in scene.bodies(7)[0]


def test_merges_that_touch_no_agent_or_are_not_on_main_are_left_alone(scene: Scene) -> None:
    scene.push({"README.md": b"newer\n"})
    scene.merge()
    scene.world.pulls[8] = PullRequest(8, "eve", "a" * 40, state="closed", merged=True, merge_commit_sha="b" * 40)
    scene.world.pulls[9] = PullRequest(9, "eve", "a" * 40, state="closed", merged=True, merge_commit_sha=None)

    tell(scene)

    assert scene.standin.made() == ["POST /graphql"]


@pytest.mark.attack(
    "marker_that_claims_a_later_run", family="bot", outcome="the score is told",
    tries="Writes the bot's marker of a later run, so that the official score is not told.",
)  # fmt: skip
def test_attack_13_a_spoofed_marker_does_not_stop_the_official_score(scene: Scene) -> None:
    scene.bring()
    scene.merge()
    record_all(scene)
    spoof = scene.world.comment(7, "eve", MARKER.format(99_999_999_999_999) + "Score: 1e9")

    tell(scene)

    assert len(scene.bodies()) == 1
    assert spoof.body.endswith("Score: 1e9")


def test_attack_14_an_older_official_run_says_nothing(scene: Scene) -> None:
    scene.bring()
    scene.merge()
    record_all(scene)
    scene.world.comment(7, BOT, MARKER.format(600) + "newer")

    tell(scene)

    assert scene.standin.writes() == []
