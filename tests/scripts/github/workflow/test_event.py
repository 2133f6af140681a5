import json
from pathlib import Path
from typing import Any

import pytest

from scripts.console import USAGE, CommandError
from scripts.github.workflow.event import (
    BOT_LOGIN,
    TEAMS_VARIABLE,
    CommentEvent,
    PullEvent,
    comment_event,
    dispatch_input,
    open_github_for_teams,
    pull_event,
    read_workflow_environment,
    workflow_run_id,
)
from tests.scripts.github.scenes import Scene

SHA = "a" * 40
PULL = {
    "number": 7,
    "user": {"login": "alice", "id": 11},
    "head": {"sha": SHA, "ref": "$(touch x)", "repo": {"id": 2000}},
    "base": {"sha": "b" * 40, "ref": "main"},
}


def environment(place: Path, event: Any = None, **changes: str) -> dict[str, str]:
    """What GitHub sets."""
    path = place / "event.json"
    path.write_text(event if isinstance(event, str) else json.dumps(event or {}))
    usual = {
        "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(path), "GITHUB_REPOSITORY": "host/board",
        "GITHUB_REPOSITORY_ID": "1000", "GITHUB_SHA": SHA, "GITHUB_RUN_ID": "31",
    }  # fmt: skip
    return {**usual, **changes}


def test_the_surroundings_of_a_run(tmp_path: Path) -> None:
    run = read_workflow_environment(
        environment(tmp_path, GITHUB_TOKEN="secret", GITHUB_API_URL="https://ghe.example/api/v3/")
    )

    assert (run.repository, run.repository_id, run.run_id) == ("host/board", 1000, 31)
    assert (run.api_url, run.server_url) == ("https://ghe.example/api/v3", "https://github.com")
    assert run.run_url == "https://github.com/host/board/actions/runs/31"
    assert (run.summary_path, run.output_path, run.bot) == (None, None, BOT_LOGIN)
    assert "secret" not in repr(run)


def test_the_bots_login_can_be_another(tmp_path: Path) -> None:
    assert read_workflow_environment(environment(tmp_path, PULLRANK_BOT="board[bot]")).bot == "board[bot]"


@pytest.mark.attack(
    "forged_environment_of_a_step", family="bot", outcome="refused in one line",
    tries="Forges a variable of a workflow's step.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_EVENT_NAME", ""),
        ("GITHUB_EVENT_NAME", "push\nX=1"),
        ("GITHUB_EVENT_PATH", "nowhere.json"),
        ("GITHUB_REPOSITORY", "host/board/more"),
        ("GITHUB_REPOSITORY_ID", "x"),
        ("GITHUB_SHA", "main"),
        ("GITHUB_RUN_ID", "-1"),
        ("GITHUB_API_URL", "file:///etc"),
        ("GITHUB_SERVER_URL", "https://a b"),
    ],
)
def test_what_github_would_not_write_is_refused_in_one_line(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(CommandError, match=name) as caught:
        read_workflow_environment(environment(tmp_path, **{name: value}))

    assert caught.value.code == USAGE
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("event", ["", "[]", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000])
def test_an_event_that_is_no_json_object_is_refused(tmp_path: Path, event: str) -> None:
    (tmp_path / "event.json").write_text(event)
    variables = {**environment(tmp_path), "GITHUB_EVENT_PATH": str(tmp_path / "event.json")}
    (tmp_path / "event.json").write_text(event)

    with pytest.raises(CommandError, match="GITHUB_EVENT_PATH"):
        read_workflow_environment(variables)


def test_a_pull_request_event(tmp_path: Path) -> None:
    workflow = read_workflow_environment(environment(tmp_path, {"pull_request": PULL}))

    assert pull_event(workflow) == PullEvent(number=7, author="alice", author_id=11, head_sha=SHA, base_sha="b" * 40)


def test_a_pull_request_event_of_a_deleted_fork_is_read(tmp_path: Path) -> None:
    gone = {**PULL, "head": {"sha": SHA, "ref": "x", "repo": None}}

    assert pull_event(read_workflow_environment(environment(tmp_path, {"pull_request": gone}))).head_sha == SHA


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {**PULL, "number": "7"},
        {**PULL, "number": True},
        {**PULL, "user": None},
        {**PULL, "head": {"sha": "HEAD", "ref": "x"}},
    ],
)
def test_an_event_without_what_is_needed_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(CommandError, match="the event has no"):
        pull_event(read_workflow_environment(environment(tmp_path, {"pull_request": wrong})))


def test_a_comment_event(tmp_path: Path) -> None:
    event = {
        "action": "created", "issue": {"number": 7, "pull_request": {}},
        "comment": {"id": 5, "node_id": "IC_5", "body": "/help", "user": {"login": "eve", "id": 66, "type": "User"}},
    }  # fmt: skip

    assert comment_event(read_workflow_environment(environment(tmp_path, event))) == CommentEvent(
        action="created",
        node_id="IC_5",
        body="/help",
        author="eve",
        author_id=66,
        author_type="User",
        number=7,
        on_pull=True,
    )


def test_the_run_and_the_inputs_of_other_events(tmp_path: Path) -> None:
    workflow = read_workflow_environment(environment(tmp_path, {"workflow_run": {"id": 31}, "inputs": {"sha": SHA, "n": 1}}))

    assert workflow_run_id(workflow) == 31
    assert [dispatch_input(workflow, name) for name in ("sha", "n", "missing")] == [SHA, "", ""]


def test_teams_are_asked_for_with_their_own_token_which_no_child_process_inherits(scene: Scene) -> None:
    workflow = read_workflow_environment(scene.environment())
    environ = {TEAMS_VARIABLE: "teams-token", "PATH": "/bin"}

    open_github_for_teams(workflow, environ).request_limits()
    open_github_for_teams(workflow, environ).request_limits()

    assert environ == {"PATH": "/bin"}
    assert [token for _, token in scene.standin.authorizations] == ["token teams-token", "token bot-token"]
