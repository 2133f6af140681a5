"""The stand-in is held to GitHub's description: here it is shown that the description really bites."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.github import contract
from tests.github.contract import answer_faults, request_faults
from tests.github.server import ROOT, GitHubStandIn
from tests.github.world import BOT, SHA, PullRequest, World


@pytest.fixture
def standin() -> Iterator[GitHubStandIn]:
    made = GitHubStandIn(World())
    made.start()
    yield made
    made.stop()


def ask(standin: GitHubStandIn, verb: str, path: str, body: Any = None, token: str = "bot-token") -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", standin.server.server_port, timeout=60)
    connection.request(
        verb, ROOT + path, json.dumps(body) if body is not None else None, {"Authorization": f"token {token}"}
    )
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, json.loads(content) if content else None


@pytest.mark.parametrize(
    ("verb", "path", "body", "said"),
    [
        ("POST", f"/statuses/{SHA}", {"state": "fine"}, "'fine' is not one of"),
        ("POST", "/issues/7/comments", {}, "'body' is a required property"),
        ("POST", "/issues/7/comments", {"body": 7}, "is not of type 'string'"),
        ("POST", "/issues/comments/101/reactions", {"content": "applause"}, "'applause' is not one of"),
        ("GET", "/pulls?state=merged", None, "'merged' is not one of"),
        ("GET", "/nowhere", None, "PathNotFound"),
    ],
)
def test_a_request_that_github_does_not_describe_is_a_violation(
    standin: GitHubStandIn, verb: str, path: str, body: Any, said: str
) -> None:
    bare, _, query = path.partition("?")
    content = json.dumps(body).encode() if body is not None else b""
    _, faults = request_faults(verb, ROOT + bare, query, content)

    assert len(faults) == 1
    assert said in faults[0]


def test_an_answer_that_github_would_not_give_is_a_violation() -> None:
    request, _ = request_faults("GET", f"{ROOT}/issues/7/comments", "", b"")
    whole = contract.example("issue-comment-items")
    del whole[0]["user"]

    assert answer_faults(request, 200, json.dumps(contract.example("issue-comment-items")).encode(), {}) == []
    assert "'user' is a required property" in answer_faults(request, 200, json.dumps(whole).encode(), {})[0]
    assert "is not of type 'array'" in answer_faults(request, 200, b"{}", {})[0]


def test_the_bot_cannot_edit_comments_of_others(standin: GitHubStandIn) -> None:
    standin.world.person("eve", 66)
    theirs = standin.world.comment(7, "eve", "hello")

    assert ask(standin, "PATCH", f"/issues/comments/{theirs.id}", {"body": "mine"})[0] == 403
    assert theirs.body == "hello"


def test_bodies_above_the_limit_are_refused_as_github_does(standin: GitHubStandIn) -> None:
    status, answer = ask(standin, "POST", "/issues/7/comments", {"body": "x" * 65_537})

    assert status == 422
    assert "65536" in answer["message"]
    assert standin.violations == []


def test_state_is_kept(standin: GitHubStandIn) -> None:
    standin.world.pulls[7] = PullRequest(7, BOT, SHA)
    ask(standin, "POST", "/issues/7/labels", {"labels": ["one", "two"]})
    ask(standin, "DELETE", "/issues/7/labels/one")

    assert [label["name"] for label in ask(standin, "GET", "/pulls/7")[1]["labels"]] == ["two"]
    assert ask(standin, "GET", "/pulls/7", token="stolen")[0] == 401
    assert standin.violations == []


def test_the_description_names_its_licence() -> None:
    assert "MIT License" in contract.description()["x-licence"]
    assert contract.description()["info"]["version"] == "23.0.2"
