import time
from contextlib import suppress
from typing import Any

import pytest

from evaluator.model.records.preview import Preview, PreviewedAgent
from leaderboard.comments.comment_states import CommentContext, CommentState
from scripts.console import CommandError
from scripts.git.pull_request_guard import GuardedPaths
from scripts.github.api.client import COMMENTS_LISTED, GitHub, GitHubError, RequestLimit
from scripts.github.pull_request import deliver, report_previews, slash_commands
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.judge_preview import PreviewCase
from scripts.github.pull_request.label_and_status import Outcome
from scripts.github.pull_request.reconcile import reconcile_pulls
from tests.github.world import BOT, Written
from tests.scripts.github.remotes import agent_files
from tests.scripts.github.scenes import Scene, commented, completed, previewed, zipped

MANY = 25


def tell(scene: Scene, run_id: int, action: str = "completed") -> None:
    """A preview run has moved."""
    event = completed(run_id)
    event["action"] = action
    event["workflow_run"]["head_sha"] = scene.world.runs[run_id].head_sha
    assert report_previews.report_recent(scene.context("workflow_run", event)) == 0


def faulty(sha: str, login: str, agent: str) -> bytes:
    """The artifact of a preview that found a fault."""
    agents = (PreviewedAgent(login=login, agent=agent, faults=("it cannot be read",)),)
    return zipped(Preview(schema=1, head_sha=sha, evaluator_sha="e" * 40, agents=agents))


def refuse_many(scene: Scene, count: int = MANY) -> list[int]:
    """Pull requests that change what they must not, each with a preview that ended."""
    numbers = list(range(20, 20 + count))
    for number in numbers:
        scene.world.person(f"person{number}", 1000 + number)
        scene.push({**agent_files(f"person{number}"), "README.md": b"mine\n"}, number, f"person{number}")
        scene.ran(100 + number, number)
    return numbers


def test_one_report_tells_everybody_whose_preview_ended_with_few_requests(scene: Scene) -> None:
    numbers = refuse_many(scene)

    tell(scene, 120)

    for number in numbers:
        (body,) = scene.bodies(number)
        assert "README.md" in body
        assert scene.world.labelled[number] == ["needs-review"]
        assert scene.statuses(scene.world.pulls[number].head_sha)[0][0] == "failure"
    made = scene.standin.made()
    rest = [line for line in made if "graphql" not in line]
    assert len([line for line in rest if line.startswith("POST /statuses/")]) == MANY
    assert [line for line in rest if not line.startswith("POST /statuses/")] == [
        "GET /rate_limit", "GET /actions/workflows/preview.yml/runs", "GET /labels", "POST /labels",
    ]  # fmt: skip
    # Two pages of pull requests at most, the labels before and after they are made, and three for each twenty.
    assert len(made) - len(rest) <= 2 + 2 + 3 * 2


def test_a_backlog_of_previews_takes_two_requests_for_each(scene: Scene) -> None:
    """Also where the artifacts of later runs, whose pull requests are closed by now, come first in GitHub's list."""
    numbers = list(range(20, 32))
    for number in numbers:
        scene.world.person(f"person{number}", 1000 + number)
        sha = scene.push(agent_files(f"person{number}", "a", f"x = {number}\n".encode()), number, f"person{number}")
        scene.ran(100 + number, number, faulty(sha, f"person{number}", "a"))
    for run_id in range(1000, 1000 + 230):
        scene.ran(run_id, numbers[0], b"later").head_sha = f"{run_id:040x}"

    tell(scene, 120)

    assert all(len(scene.bodies(number)) == 1 for number in numbers)
    made = [line for line in scene.standin.made() if "graphql" not in line]
    assert [line for line in made if "/actions/runs/" in line] == []
    assert len([line for line in made if line == "GET /actions/artifacts"]) == 3
    each = [line for line in made if line.endswith("/zip") or line.startswith("POST /statuses/")]
    assert len(each) == 2 * len(numbers)


def test_what_was_told_costs_no_more_than_a_look(scene: Scene) -> None:
    refuse_many(scene, 3)
    tell(scene, 120)
    scene.standin.calls.clear()

    tell(scene, 121)

    assert scene.standin.writes() == []
    assert [line for line in scene.standin.made() if "graphql" not in line] == [
        "GET /rate_limit", "GET /actions/workflows/preview.yml/runs",
    ]  # fmt: skip


def test_requests_are_left_for_others_and_a_later_report_tells_the_rest(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = refuse_many(scene)
    scene.world.left["core"] = report_previews.REPORTS_LEAVE_REQUESTS + 10

    tell(scene, 120)

    told = [number for number in numbers if scene.bodies(number)]
    assert len(told) == report_previews.DELIVERED_AT_ONCE
    assert "5 previews are reported by a later run" in capsys.readouterr().err
    scene.world.left["core"] = 1000
    tell(scene, 121)
    assert all(len(scene.bodies(number)) == 1 for number in numbers)


def test_the_oldest_previews_are_told_first_when_not_all_can_be(scene: Scene) -> None:
    numbers = refuse_many(scene)
    for number in numbers[:3]:  # What changed last comes first in GitHub's list.
        scene.world.touch(number)
    scene.world.left["core"] = report_previews.REPORTS_LEAVE_REQUESTS + 10

    tell(scene, 120)

    assert [number for number in numbers if scene.bodies(number)] == numbers[: report_previews.DELIVERED_AT_ONCE]


@pytest.mark.attack(
    "heads_that_take_minutes_to_read", family="bot", outcome="everybody else is told first",
    tries="Opens many pull requests whose heads keep git busy to its time limit, so that no report comes to an end.",
)  # fmt: skip
def test_heads_that_take_minutes_keep_nobody_else_from_being_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.world.person("mallory", 666)
    for number in range(3, 18):
        scene.push({**agent_files("mallory", f"a{number}"), "README.md": b"mine\n"}, number, "mallory")
        scene.ran(number, number)
    honest = refuse_many(scene, 3)
    now, usual = [0.0], report_previews.outcome_without_scores

    def read(context: BotContext, case: PreviewCase) -> Outcome | GuardedPaths:
        now[0] += 400 if case.pull.author == "mallory" else 1
        return usual(context, case)

    monkeypatch.setattr(report_previews, "outcome_without_scores", read)
    monkeypatch.setattr(report_previews.time, "monotonic", lambda: now[0])

    tell(scene, 120)

    assert all(len(scene.bodies(number)) == 1 for number in honest)
    assert now[0] < 45 * 60 / 2  # the job has 45 minutes
    before = sum(bool(scene.bodies(number)) for number in range(3, 18))
    assert before > 0
    for number in honest:
        scene.push({**agent_files(f"person{number}"), "README.md": b"again\n"}, number, f"person{number}")
        scene.ran(200 + number, number)
    now[0] = 0.0
    assert reconcile_pulls(scene.context("schedule", {})) == 0
    assert now[0] < 12 * 60  # the step has 12 minutes
    assert sum(bool(scene.bodies(number)) for number in range(3, 18)) > before


@pytest.mark.attack(
    "duels_that_take_minutes_to_replay", family="bot", outcome="everybody else is told first",
    tries="Hands in previews with the longest matches of a slow game, whose replays take all the time of every report.",
)  # fmt: skip
def test_previews_that_take_minutes_to_score_keep_nobody_else_from_being_told(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.world.person("mallory", 666)
    heavy, honest = range(3, 18), range(20, 23)
    for number in (*heavy, *honest):
        author = "mallory" if number in heavy else f"person{number}"
        scene.world.person(author, 666 if number in heavy else 1000 + number)
        sha = scene.push(agent_files(author, f"a{number}", f"x = {number}\n".encode()), number, author)
        scene.ran(100 + number, number, faulty(sha, author, f"a{number}"))
    now, usual = [0.0], report_previews.scored_outcome

    def score(context: BotContext, case: PreviewCase, paths: GuardedPaths) -> Outcome:
        now[0] += 400 if case.pull.author == "mallory" else 1
        return usual(context, case, paths)

    monkeypatch.setattr(report_previews, "scored_outcome", score)
    monkeypatch.setattr(report_previews.time, "monotonic", lambda: now[0])

    tell(scene, 120)

    assert all(len(scene.bodies(number)) == 1 for number in honest)
    assert now[0] < 40 * 60  # the job has 45 minutes
    assert 0 < (before := sum(bool(scene.bodies(number)) for number in heavy)) < len(heavy)
    now[0] = 0.0
    assert reconcile_pulls(scene.context("schedule", {})) == 0
    assert now[0] < 12 * 60  # the step has 12 minutes
    assert sum(bool(scene.bodies(number)) for number in heavy) > before


def test_no_runs_are_listed_from_before_a_pull_request_was_opened(scene: Scene) -> None:
    """A pull request without a run costs no more pages than there were runs since it came."""
    scene.bring(8)
    scene.world.pulls[8].created_at = "2026-01-02T03:00:00Z"
    for run in range(200, 200 + 450):
        scene.ran(run, 8, created_at=f"2026-01-02T0{(run - 200) // 100}:00:00Z").head_sha = "e" * 40

    tell(scene, 649)

    listed = [line for line in scene.standin.made() if line.endswith("preview.yml/runs")]
    assert len(listed) == 2
    scene.standin.calls.clear()
    reconcile_pulls(scene.context("schedule", {}))
    assert not [line for line in scene.standin.made() if line == "GET /actions/runs"]


def test_without_requests_nothing_is_looked_at(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    refuse_many(scene, 3)
    scene.world.left["core"] = report_previews.REPORTS_LEAVE_REQUESTS

    tell(scene, 120)

    assert scene.standin.made() == ["GET /rate_limit"]
    assert "Previews are reported later" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("used", "elapsed", "pause"),
    [
        (0, 0, 0), (300, 0, 0), (331, 0, 180), (400, 1800, 0), (920, 3600, 0), (999, 0, 240),
        (610, 1800, 0), (641, 1800, 180),
    ],
)  # fmt: skip
def test_a_report_waits_while_requests_are_ahead_of_the_hour(used: int, elapsed: int, pause: float) -> None:
    limit = RequestLimit(most=1000, used=used, ends_at=10_000 + 3600 - elapsed)

    assert report_previews.pause_before(limit, 10_000) == pytest.approx(pause)


def test_waiting_sends_nothing_that_counts(scene: Scene, slept: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    report_previews.wait_for_more(scene.github, time.time())
    assert slept == []
    scene.world.left["core"] = 200

    report_previews.wait_for_more(scene.github, time.time())

    assert slept == [report_previews.LONGEST_PAUSE]
    assert "800 of 1000 requests of this hour are sent; the report waits for 240 s." in capsys.readouterr().err
    assert scene.world.left == {"core": 200, "graphql": 1000}


def test_a_conflict_is_told_by_the_next_report(scene: Scene) -> None:
    sha = scene.bring(8)
    scene.world.pulls[8].mergeable = False

    tell(scene, refuse_many(scene, 1)[0] + 100)
    tell(scene, 120)

    assert [state for state, _ in scene.statuses(sha)] == ["error"]
    assert "conflict" in scene.bodies(8)[0]


def test_a_preview_behind_many_newer_ones_is_told(scene: Scene) -> None:
    (number,) = refuse_many(scene, 1)
    told = scene.bring(8)
    for run in range(200, 200 + report_previews.LISTED_AT_ONCE):  # of an older commit of another pull request
        scene.ran(run, 8)
        scene.world.runs[run].head_sha = "e" * 40

    tell(scene, 120)

    assert "README.md" in scene.bodies(number)[0]
    assert scene.statuses(told) == []


def test_a_beginning_is_announced_only_while_requests_are_plenty(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, status="in_progress", conclusion=None)
    scene.world.left["core"] = report_previews.MANY_REQUESTS_LEFT

    tell(scene, 31, "in_progress")
    assert scene.statuses(sha) == []
    scene.world.left["core"] = 1000
    tell(scene, 31, "in_progress")

    assert scene.statuses(sha) == [("pending", "the preview is being played")]


def test_a_score_is_told_from_the_artifact_of_its_own_run(scene: Scene) -> None:
    first = scene.bring(7)
    scene.ran(31, 7, content=previewed(scene, first))
    second = scene.bring(8, source=b"x = 2\n")
    scene.ran(32, 8, content=previewed(scene, second))

    tell(scene, 32)

    assert [first[:7] in scene.bodies(7)[0], second[:7] in scene.bodies(8)[0]] == [True, True]
    assert "GET /actions/artifacts" in scene.standin.made()
    assert not [line for line in scene.standin.made() if line.startswith("GET /actions/runs/")]


def test_texts_above_githubs_limit_are_left_for_later_and_nothing_is_final(scene: Scene) -> None:
    numbers = refuse_many(scene, 3)
    scene.world.left["texts"] = 0

    with pytest.raises(CommandError, match="could not be told"):
        report_previews.report_recent(scene.context("workflow_run", completed(120)))
    assert scene.world.statuses == []
    scene.world.left["texts"] = 500
    tell(scene, 120)

    assert all(len(scene.bodies(number)) == 1 for number in numbers)


def test_a_status_that_another_account_set_is_not_taken_for_ours(scene: Scene) -> None:
    (number,) = refuse_many(scene, 1)
    sha = scene.world.pulls[number].head_sha
    status = {"sha": sha, "state": "success", "context": "pullrank", "description": "", "target_url": ""}
    scene.world.statuses.append({**status, "creator": "eve", "at": scene.world.now()})

    tell(scene, 120)

    assert [one["state"] for one in scene.world.statuses if one["creator"] == BOT] == ["failure"]
    assert "README.md" in scene.bodies(number)[0]


@pytest.mark.attack(
    "thread_of_thousands_of_comments", family="bot", outcome="told by label and status, with few requests",
    tries="Fills the thread before the bot speaks, so that looking for its comment takes all requests of the hour.",
)  # fmt: skip
def test_a_flooded_thread_costs_few_requests_and_is_told_by_its_label(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    (number,) = refuse_many(scene, 1)
    for _ in range(2 * COMMENTS_LISTED):
        scene.world.comment(number, f"person{number}", "me first")

    tell(scene, 100 + number)

    assert scene.bodies(number) == []
    assert scene.world.labelled[number] == ["needs-review"]
    assert scene.statuses(scene.world.pulls[number].head_sha)[0][0] == "failure"
    listed = [line for line in scene.standin.made() if line.endswith(f"/issues/{number}/comments")]
    assert 1 <= len(listed) <= 2 * COMMENTS_LISTED / 100
    assert f"#{number} has 1000 comments; it is told by its label and its status alone." in capsys.readouterr().err


def test_a_change_that_github_refuses_is_said_and_fails_the_report(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its status stays open, so that a later report tries again."""
    (number,) = refuse_many(scene, 1)
    with monkeypatch.context() as patched:
        patched.setattr(GitHub, "mutate", lambda self, changes: dict.fromkeys(range(len(changes)), "no such thing"))
        with pytest.raises(CommandError, match=f"#{number}: GitHub refused a change: no such thing"):
            tell(scene, 100 + number)

    assert scene.statuses(scene.world.pulls[number].head_sha) == []
    tell(scene, 100 + number)
    assert len(scene.bodies(number)) == 1


@pytest.mark.attack(
    "texts_too_much_for_one_request", family="bot", outcome="everybody is told, in smaller requests",
    tries="Has pull requests with comments so long that GitHub gives up the request that writes them and those of others.",
)  # fmt: skip
@pytest.mark.parametrize("answer", ["502", "no data", "in part", "nothing read"])
def test_what_is_too_much_for_one_request_is_told_in_several(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    numbers = refuse_many(scene)
    whole, query = deliver.render_comment, GitHub.query

    def render(state: CommentState, context: CommentContext) -> str:
        return whole(state, context).ljust(60_000, "x")

    def gives_up(github: GitHub, text: str, variables: dict[str, Any]) -> dict[str, Any]:
        size = sum(len(given.get("body", "")) for given in variables.values() if isinstance(given, dict))
        is_too_much = text.count("comments(") > 3 if answer == "nothing read" else size >= 200_000
        if not is_too_much:
            return query(github, text, variables)
        if answer == "502":
            raise GitHubError(502, "GitHub answered 502")
        data = dict.fromkeys(f"c{place}" for place in range(len(variables))) if answer == "in part" else None
        return {"data": data, "errors": [{"message": "Resource limits for this query exceeded."}]}

    monkeypatch.setattr(deliver, "render_comment", render)
    monkeypatch.setattr(GitHub, "query", gives_up)

    tell(scene, 100 + numbers[-1])

    assert [len(scene.bodies(number)) for number in numbers] == [1] * MANY
    assert [scene.world.labelled[number] for number in numbers] == [["needs-review"]] * MANY
    assert {scene.statuses(scene.world.pulls[number].head_sha)[0][0] for number in numbers} == {"failure"}


@pytest.mark.attack(
    "text_too_much_for_any_request", family="bot", outcome="everybody else is told",
    tries="Has a pull request that GitHub gives up even alone, when it is read or written, so that all behind it wait.",
)  # fmt: skip
@pytest.mark.parametrize("mark", ["p22:", "PR_22"])
@pytest.mark.parametrize("answer", ["502", "no data", "in part"])
def test_what_github_gives_up_even_alone_keeps_nobody_else_from_being_told(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, answer: str, mark: str
) -> None:
    numbers, query = refuse_many(scene), GitHub.query

    def gives_up(github: GitHub, text: str, variables: dict[str, Any]) -> dict[str, Any]:
        if mark not in f"{text} {variables}":
            return query(github, text, variables)
        if answer == "502":
            raise GitHubError(502, "GitHub answered 502")
        data = {"repository": {"p22": None}, **dict.fromkeys(f"c{place}" for place in range(len(variables)))}
        return {"data": data if answer == "in part" else None, "errors": [{"message": "Something went wrong."}]}

    monkeypatch.setattr(GitHub, "query", gives_up)

    with suppress(CommandError):
        tell(scene, 100 + numbers[-1])

    told = [number for number in numbers if scene.statuses(scene.world.pulls[number].head_sha)]
    assert told == [number for number in numbers if number != 22]
    assert [len(scene.bodies(number)) for number in told] == [1] * (MANY - 1)


@pytest.mark.attack(
    "comments_too_many_to_be_listed", family="bot", outcome="everybody else is told",
    tries="Writes long comments before the bot's first one, until GitHub gives up their list, so that all others wait.",
)  # fmt: skip
@pytest.mark.parametrize("status", [502, 0])
@pytest.mark.parametrize(
    "given_up", ["GET /issues/22/comments", "PATCH /issues/comments/1", "DELETE /issues/comments/2", "POST /statuses/"]
)
def test_what_github_gives_up_of_one_keeps_nobody_else_from_being_told(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, given_up: str, status: int
) -> None:
    numbers, send = refuse_many(scene), GitHub._send
    world, verb, path = scene.world, *given_up.split(" ")
    if verb == "GET":
        for _ in range(12):
            world.comment(22, "person22", "long")
    elif verb in ("PATCH", "DELETE"):
        for number in (1, 2):
            world.comments[number] = Written(number, 22, BOT, f"<!-- pullrank:comment run={number} -->\ntext {number}")
    else:
        path += world.pulls[22].head_sha

    def gives_up(github: GitHub, method: str, url: str, *arguments: Any) -> Any:
        if method == verb and url.endswith(path):
            raise GitHubError(status, f"GitHub answered {status}")
        return send(github, method, url, *arguments)

    monkeypatch.setattr(GitHub, "_send", gives_up)

    with pytest.raises(CommandError, match="#22"):
        tell(scene, 100 + numbers[-1])

    told = [number for number in numbers if scene.statuses(world.pulls[number].head_sha)]
    assert told == [number for number in numbers if number != 22]
    assert [len(scene.bodies(number)) for number in told] == [1] * (MANY - 1)


def test_who_cannot_be_read_again_is_told_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have two comments, since the request that wrote them was sent twice."""
    (number,), query = refuse_many(scene, 1), GitHub.query
    sha = scene.world.pulls[number].head_sha

    def gives_up(github: GitHub, text: str, variables: dict[str, Any]) -> dict[str, Any]:
        if f"p{number}:" in text and "commits(" not in text:
            raise GitHubError(502, "GitHub answered 502")
        return query(github, text, variables)

    with monkeypatch.context() as patched:
        patched.setattr(GitHub, "query", gives_up)
        with pytest.raises(CommandError, match=f"#{number}: .* could not be read again"):
            tell(scene, 100 + number)

    assert scene.statuses(sha) == []
    scene.world.comment(number, BOT, scene.bodies(number)[0])
    tell(scene, 100 + number)
    assert len(scene.bodies(number)) == 1
    assert scene.statuses(sha)[-1][0] == "failure"


def test_while_github_answers_nothing_not_each_is_asked_for_alone(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = refuse_many(scene)
    query, asked = GitHub.query, list[str]()

    def is_down(github: GitHub, text: str, variables: dict[str, Any]) -> dict[str, Any]:
        if "pullRequests(" in text:
            return query(github, text, variables)
        asked.append(text)
        raise GitHubError(502, "GitHub answered 502")

    monkeypatch.setattr(GitHub, "query", is_down)

    with pytest.raises(CommandError, match="could not be told"):
        tell(scene, 100 + numbers[-1])

    assert len(asked) < 8


def test_while_the_hour_is_used_up_nothing_is_asked_again_in_halves(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = refuse_many(scene)
    query, asked = GitHub.query, list[str]()

    def refuses(github: GitHub, text: str, variables: dict[str, Any]) -> dict[str, Any]:
        if not text.startswith("mutation"):
            return query(github, text, variables)
        asked.append(text)
        return {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}

    monkeypatch.setattr(GitHub, "query", refuses)

    with pytest.raises(CommandError, match="could not be told"):
        tell(scene, 100 + numbers[-1])

    assert len(asked) == 1
    assert [scene.bodies(number) for number in numbers] == [[]] * MANY


def test_a_text_that_cannot_be_written_keeps_nobody_else_from_being_told(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = refuse_many(scene)
    whole = deliver.render_comment
    calls: list[object] = []

    def render(state: CommentState, context: CommentContext) -> str:
        calls.append(state)
        if len(calls) == 3:
            raise ValueError("secret words")
        return whole(state, context)

    with monkeypatch.context() as patched:
        patched.setattr(deliver, "render_comment", render)
        with pytest.raises(CommandError) as failure:
            tell(scene, 120)

    untold = [number for number in numbers if not scene.bodies(number)]
    assert len(untold) == 1
    (number,) = untold
    assert f"#{number} could not be settled; the log of the run says why" in str(failure.value)
    assert f"#{number}: ValueError, which is a defect of the bot; report it" in (log := capsys.readouterr().err)
    assert "secret words" not in log
    assert scene.statuses(scene.world.pulls[number].head_sha) == []
    tell(scene, 120)  # Without a status it is looked at again.
    assert len(scene.bodies(number)) == 1


def test_our_comment_in_a_long_thread_is_kept(scene: Scene) -> None:
    (number,) = refuse_many(scene, 1)
    tell(scene, 100 + number)
    for _ in range(2 * COMMENTS_LISTED):
        scene.world.comment(number, f"person{number}", "and another thing")
    scene.push({**agent_files(f"person{number}"), "LICENSE": b"mine\n"}, number, f"person{number}")
    scene.ran(900, number)

    tell(scene, 900)

    (body,) = scene.bodies(number)
    assert "LICENSE" in body


@pytest.mark.attack(
    "previews_that_hide_a_retry", family="bot", outcome="told by the next report",
    tries="Keeps so many previews running that the bot announces no beginnings, and tells no retry of somebody else's.",
)  # fmt: skip
def test_a_retry_is_told_though_nobody_was_told_that_it_began(scene: Scene) -> None:
    sha = scene.bring()
    run = scene.ran(31, content=previewed(scene, sha, returns=(), verdict="timeout"))
    tell(scene, 31)
    assert scene.statuses(sha)[-1][0] == "failure"
    for number in range(40, 48):
        scene.world.person(f"person{number}", 1000 + number)
        scene.push(agent_files(f"person{number}", "a", f"x = {number}\n".encode()), number, f"person{number}")
        scene.ran(100 + number, number, status="in_progress", conclusion=None)

    written = scene.world.comment(7, "alice", "/retry")
    event = commented(7, written.id, "/retry", ("alice", 11))
    assert slash_commands.run_slash_command(scene.context("issue_comment", event)) == 0
    assert scene.statuses(sha)[-1] == ("pending", "the preview is being played")
    run.status, run.conclusion = "completed", "success"
    run.artifacts["preview"] = previewed(scene, sha)
    tell(scene, 140, "in_progress")  # Of the reports that waited, only the newest stayed.

    assert scene.statuses(sha)[-1][0] == "success"
    assert scene.world.labelled[7] == ["preview-ok"]


def test_a_run_that_a_person_started_again_is_told_when_it_ends(scene: Scene) -> None:
    sha = scene.bring()
    run = scene.ran(31, content=previewed(scene, sha, returns=(), verdict="timeout"))
    tell(scene, 31)
    run.attempt, run.artifacts["preview"] = 2, previewed(scene, sha)

    event = completed(31)
    event["workflow_run"] |= {"head_sha": sha, "run_attempt": 2}
    assert report_previews.report_recent(scene.context("workflow_run", event)) == 0

    assert scene.statuses(sha)[-1][0] == "success"
