"""Tricks on the bot: hidden commands, events that are delivered again, labels that somebody set."""

import pytest

from scripts.github.pull_request import report_previews, slash_commands
from scripts.github.pull_request.label_and_status import OK_LABEL
from scripts.github.pull_request.slash_commands import parse_command
from tests.scripts.github.pull_request.test_slash_commands import ALICE, HOST, say
from tests.scripts.github.scenes import Scene, commented, completed, previewed

HIDDEN = [
    pytest.param("```\n/retry\n```", marks=pytest.mark.attack(
        "command_in_a_code_block", family="bot", outcome="no command",
        tries="Hides a command in a block of code of a long comment.")),
    pytest.param("<!--\n/retry\n-->", marks=pytest.mark.attack(
        "command_in_an_html_comment", family="bot", outcome="no command",
        tries="Hides a command where the page shows nothing.")),
    pytest.param("<details><summary>\n/retry\n</summary></details>", id="in details"),
    pytest.param("    /retry", id="in an indented block"),
    pytest.param("\ufeff/retry", marks=pytest.mark.attack(
        "command_behind_a_byte_order_mark", family="bot", outcome="no command",
        tries="Begins a command with a letter that nobody sees.")),
    pytest.param("\u200b/retry", id="behind an invisible space"),
    pytest.param("thanks\u2028/retry", marks=pytest.mark.attack(
        "command_behind_a_line_separator", family="bot", outcome="no command",
        tries="Ends a line with a separator that only some readers know.")),
    pytest.param("/ret\u0440y", marks=pytest.mark.attack(
        "command_in_letters_that_look_alike", family="bot", outcome="no command",
        tries="Writes a command with letters that look alike.")),
    pytest.param("/retry\u2029/evaluate", marks=pytest.mark.attack(
        "two_commands_in_a_line", family="bot", outcome="no command",
        tries="Writes what a reader takes for one line, and the bot for a command and more.")),
    pytest.param("/retry\x0b/rank", id="behind a vertical tab"),
    pytest.param("@github-actions /retry", id="behind a mention"),
]  # fmt: skip


@pytest.mark.parametrize("body", HIDDEN)
def test_a_hidden_command_is_none(scene: Scene, body: str) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha, returns=(), verdict="timeout"))

    assert parse_command(body) is None
    assert say(scene, body) == []
    assert scene.world.reruns == []
    assert scene.standin.calls == []


@pytest.mark.attack(
    "comment_replayed", family="bot", outcome="obeyed once",
    tries="Lets GitHub deliver the event of a command many times.",
)  # fmt: skip
def test_a_command_that_is_delivered_again_and_again_is_obeyed_within_its_limit(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha, returns=(), verdict="timeout"))
    written = scene.world.comment(7, "alice", "/retry")
    for _ in range(6):
        slash_commands.run_slash_command(scene.context("issue_comment", commented(7, written.id, "/retry", ALICE)))

    assert len(scene.world.reruns) == 1


@pytest.mark.attack(
    "deleted_action_of_a_comment", family="bot", outcome="no command",
    tries="Deletes a maintainer's command, whose event holds its words once more.",
)  # fmt: skip
@pytest.mark.parametrize("action", ["deleted", "edited", "pinned", ""])
def test_only_a_comment_that_is_written_is_a_command(scene: Scene, action: str) -> None:
    sha = scene.bring()

    assert say(scene, f"/evaluate {sha}", HOST, action=action) == []
    assert scene.world.dispatched == []


@pytest.mark.attack(
    "label_that_somebody_set", family="bot", outcome="replaced by the bot's own",
    tries="Gets the label of a good preview before the preview failed.",
)  # fmt: skip
def test_a_label_that_somebody_set_does_not_outlive_the_report(scene: Scene) -> None:
    sha = scene.bring()
    scene.world.labels[OK_LABEL] = "x"
    scene.world.labelled[7] = [OK_LABEL, "help wanted"]
    scene.ran(31, content=previewed(scene, sha, returns=(), verdict="crashed"))
    report_previews.report_preview(scene.context("workflow_run", completed(31)))

    assert OK_LABEL not in scene.world.labelled[7]
    assert "help wanted" in scene.world.labelled[7]


@pytest.mark.attack(
    "event_replayed", family="bot", outcome="nothing changes",
    tries="Lets GitHub deliver the end of a run twice, the second time after a newer one.",
)  # fmt: skip
def test_the_end_of_a_run_that_is_delivered_again_changes_nothing(scene: Scene) -> None:
    first = scene.bring()
    scene.ran(31, content=previewed(scene, first, returns=(500.0,) * 3))
    report_previews.report_preview(scene.context("workflow_run", completed(31)))
    second = scene.bring(source=b"x = 2\n")
    scene.ran(32, content=previewed(scene, second, returns=(), verdict="crashed"))
    report_previews.report_preview(scene.context("workflow_run", completed(32), run_id=501))
    (before,) = scene.bodies()
    for run in (31, 32, 31):
        report_previews.report_preview(scene.context("workflow_run", completed(run), run_id=502))

    (after,) = scene.bodies()
    assert after.partition("\n")[2] == before.partition("\n")[2]
    assert [state for state, _ in scene.statuses(second)][-1] == "failure"
