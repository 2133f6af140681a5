"""The stand-in is held to GitHub's description: here it is shown that the description really bites."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.github import contract, queries
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
    ("verb", "path", "body", "message"),
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
    standin: GitHubStandIn, verb: str, path: str, body: Any, message: str
) -> None:
    bare, _, query = path.partition("?")
    content = json.dumps(body).encode() if body is not None else b""
    _, faults = request_faults(verb, ROOT + bare, query, content)

    assert len(faults) == 1
    assert message in faults[0]


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


# GraphQL

COMMIT = 'c0: object(oid: "' + SHA + '") {{ ... on Commit {{ {} }} }}'
INNER = "associatedPullRequests({}) {{ nodes {{ merged }} }}"


def query(inner: str) -> dict[str, Any]:
    return {"query": f'{{ repository(owner: "host", name: "board") {{ {inner} }} }}'}


def post(standin: GitHubStandIn, body: Any, token: str = "bot-token") -> tuple[int, Any, Any]:
    connection = HTTPConnection("127.0.0.1", standin.server.server_port, timeout=60)
    connection.request("POST", "/graphql", json.dumps(body), {"Authorization": f"token {token}"})
    answer = connection.getresponse()
    content = json.loads(answer.read())
    connection.close()
    return answer.status, content, answer.headers


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "the body is a query and its variables"),
        ({"query": "{"}, "Syntax Error"),
        (query("stars"), "Cannot query field 'stars' on type 'Repository'"),
        (query(COMMIT.format("signature { verified }")), "Cannot query field 'verified' on type 'GitSignature'"),
        (query('c0: object(oid: "a") { signature { isValid } }'), "Cannot query field 'signature' on type 'GitObject'"),
        (query(COMMIT.format(INNER.format("last: 1, stat: 2"))), "Unknown argument 'stat'"),
        (query(COMMIT.format("associatedPullRequests { totalCount }")), "wants `first` or `last`"),
        (query(COMMIT.format(INNER.format("first: 101"))), "wants `first` or `last`, from 1 to 100"),
        (query(" ".join(f'c{n}: object(oid: "{SHA}") {{ oid }}' for n in range(101))), "asks for 101 commits"),
    ],
)
def test_a_query_that_github_would_refuse_is_a_violation(standin: GitHubStandIn, body: Any, message: str) -> None:
    status, answer, _ = post(standin, body)

    assert status == 200
    assert "data" not in answer
    assert any(message in error["message"] for error in answer["errors"])
    assert any(message in one for one in standin.violations)


def test_a_query_is_answered_on_githubs_own_schema(standin: GitHubStandIn) -> None:
    standin.world.unverified.add("b" * 40)
    signed = "... on Commit { oid signature { isValid state } }"
    _, answer, headers = post(
        standin, query(f'one: object(oid: "{SHA}") {{ {signed} }} other: object(oid: "{"b" * 40}") {{ {signed} }}')
    )

    assert answer["data"]["repository"] == {
        "one": {"oid": SHA, "signature": {"isValid": True, "state": "VALID"}}, "other": {"oid": "b" * 40, "signature": None},
    }  # fmt: skip
    assert (headers["X-RateLimit-Remaining"], headers["X-RateLimit-Resource"]) == ("999", "graphql")
    assert post(standin, query("id"), token="stolen")[0] == 401
    assert standin.violations == []


def test_the_hours_limits_are_counted_as_github_counts_them(standin: GitHubStandIn) -> None:
    for _ in range(3):
        ask(standin, "GET", "/labels")
    assert standin.world.left == {"core": 997, "graphql": 1000}
    standin.world.left.update(core=0, graphql=0)

    assert ask(standin, "GET", "/labels")[0] == 403
    status, answer, headers = post(standin, query("id"))
    assert (status, answer["errors"][0]["type"], headers["X-RateLimit-Remaining"]) == (200, "RATE_LIMITED", "0")


def test_the_schema_names_its_source_and_licence() -> None:
    text = (Path(queries.__file__).with_name("schema.graphql")).read_text()

    assert text.startswith("# From @octokit/graphql-schema 15.26.1")
    assert "Licensed as MIT" in text
