"""What the stand-in answers to GraphQL: queries on GitHub's own schema, with its bounds, over the values of the world."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLError,
    GraphQLSchema,
    IntValueNode,
    build_schema,
    graphql_sync,
    parse,
    validate,
)
from graphql.language import Node

from tests.github.world import HOUR, NAME, OWNER, PullRequest, World

PATHS = ("/graphql", "/api/graphql")
COMMITS, NODES = 100, 500_000


@cache
def schema() -> GraphQLSchema:
    """GitHub's schema, as trim_graphql.py made it."""
    return build_schema(Path(__file__).with_name("schema.graphql").read_text())


def query_faults(body: Any) -> list[str]:
    """What GitHub would say against a query, and what the bot itself promises: a bounded number of commits."""
    if not isinstance(body, dict) or not isinstance(body.get("query"), str) or body.keys() > {"query", "variables"}:
        return ["POST /graphql: the body is a query and its variables"]
    try:
        document = parse(body["query"])
    except GraphQLError as error:
        return [f"POST /graphql: {error.message}"]
    faults = [f"POST /graphql: {error.message}" for error in validate(schema(), document)]
    connections = [field for field in _fields(document) if field.name.value == "associatedPullRequests"]
    # In a fragment a connection stands once for each commit that the fragment is used on.
    commits = sum(field.name.value == "object" for field in _fields(document))
    sizes = [_size(field) for field in connections]
    if not all(1 <= size <= 100 for size in sizes):
        faults.append("POST /graphql: a connection wants `first` or `last`, from 1 to 100")
    if commits > COMMITS or commits * (1 + sum(sizes)) > NODES:
        faults.append(f"POST /graphql: asks for {commits} commits")
    return faults


def cost(body: Any) -> int:
    """The points of a query, by GitHub's rule: its requests in hundreds, at least one."""
    document = parse(body["query"])
    commits = sum(field.name.value == "object" for field in _fields(document))
    return max(1, round((1 + commits) / 100))


def answer(world: World, body: Any) -> dict[str, Any]:
    """The whole answer; with errors where the query is refused or the hour's points are used up."""
    if faults := query_faults(body):
        return {"errors": [{"message": fault} for fault in faults]}
    if world.left["graphql"] < cost(body):
        message = "API rate limit already exceeded for installation ID 1."
        return {"errors": [{"type": "RATE_LIMITED", "code": "graphql_rate_limit", "message": message}]}
    world.left["graphql"] -= cost(body)
    root = {"rateLimit": _limit(world, cost(body)), "repository": lambda _, **names: _repository(world, **names)}
    done = graphql_sync(schema(), body["query"], root, variable_values=body.get("variables"))
    return dict(done.formatted)


def _limit(world: World, points: int) -> dict[str, Any]:
    left = world.left["graphql"]
    return {"cost": points, "limit": HOUR, "remaining": left, "used": HOUR - left, "resetAt": "2026-01-02T04:04:05Z"}


def _repository(world: World, owner: str, name: str, **_: Any) -> dict[str, Any] | None:
    if (owner.casefold(), name.casefold()) != (OWNER, NAME):
        return None
    return {"id": "R_ours", "object": lambda _, oid: _commit(world, oid)}


def _commit(world: World, sha: str) -> dict[str, Any] | None:
    if sha in world.gone:
        return None
    signature = {"__typename": "GpgSignature", "isValid": True, "state": "VALID", "wasSignedByGitHub": True}
    pulls = [_pull(world, world.pulls[number]) for number in world.commits.get(sha, [])]
    pulls += [_pull(world, one, "R_fork") for one in world.elsewhere.get(sha, [])]
    return {
        "__typename": "Commit", "oid": sha, "signature": None if sha in world.unverified else signature,
        "associatedPullRequests": lambda _, first, **__: {"nodes": pulls[:first], "totalCount": len(pulls)},
    }  # fmt: skip


def _pull(world: World, one: PullRequest, repository: str = "R_ours") -> dict[str, Any]:
    person = world.people.get(one.author)
    author = {"__typename": person.type, "login": person.login, "databaseId": person.id} if person else None
    merge = {"__typename": "Commit", "oid": one.merge_commit_sha} if one.merged and one.merge_commit_sha else None
    return {
        "merged": one.merged, "mergeCommit": merge, "repository": {"id": repository}, "author": author,
        "baseRefName": one.base_ref, "number": one.number,
    }  # fmt: skip


def _fields(node: Any) -> Iterator[FieldNode]:
    """Every field that a query names, at any depth."""
    if isinstance(node, FieldNode):
        yield node
    if isinstance(node, DocumentNode):
        for definition in node.definitions:
            yield from _fields(definition)
    selected = getattr(node, "selection_set", None) if isinstance(node, Node) else None
    for inner in selected.selections if selected else ():
        yield from _fields(inner)


def _size(field: FieldNode) -> int:
    values = [one.value for one in field.arguments or () if one.name.value in ("first", "last")]
    return int(values[0].value) if len(values) == 1 and isinstance(values[0], IntValueNode) else 0
