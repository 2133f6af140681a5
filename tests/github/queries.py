"""What the stand-in answers to GraphQL: queries on GitHub's own schema, with its bounds, over the values of the world."""

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLSchema,
    IntValueNode,
    build_schema,
    execute_sync,
    parse,
    validate,
)
from graphql.language import Node

from tests.github.world import BOT, HOUR, NAME, OWNER, REPOSITORY_ID, PullRequest, World

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
    return list(_text_faults(body["query"]))


@lru_cache(maxsize=64)
def _document(text: str) -> DocumentNode:
    return parse(text)


@lru_cache(maxsize=64)
def _text_faults(text: str) -> tuple[str, ...]:
    try:
        document = _document(text)
    except GraphQLError as error:
        return (f"POST /graphql: {error.message}",)
    faults = [f"POST /graphql: {error.message}" for error in validate(schema(), document)]
    commits = sum(field.name.value == "object" for field in _fields(document))
    if not all(1 <= _size(field) <= 100 for field in _fields(document) if _is_connection(field)):
        faults.append("POST /graphql: a connection wants `first` or `last`, from 1 to 100")
    if commits > COMMITS or _extent(document)[1] > NODES:
        faults.append(f"POST /graphql: asks for {commits} commits and {_extent(document)[1]} nodes")
    return tuple(faults)


def cost(body: Any) -> int:
    """The points of a query, by GitHub's rule: its requests in hundreds, at least one."""
    return max(1, round((1 + _extent(_document(body["query"]))[0]) / 100))


def changes(body: Any) -> list[str]:
    """The names of what a query changes, in order; none of what is no query."""
    if query_faults(body):
        return []
    return [field.name.value for field in _fields(_document(body["query"])) if field.name.value in DEEDS]


def created_texts(body: Any) -> int:
    """How many comments a query creates."""
    return sum(field.name.value == "addComment" for field in _fields(_document(body["query"])))


def answer(world: World, body: Any, login: str = BOT) -> dict[str, Any]:
    """The whole answer; with errors where the query is refused or the hour's points are used up."""
    if faults := query_faults(body):
        return {"errors": [{"message": fault} for fault in faults]}
    if world.left["graphql"] < cost(body):
        message = "API rate limit already exceeded for installation ID 1."
        return {"errors": [{"type": "RATE_LIMITED", "code": "graphql_rate_limit", "message": message}]}
    world.left["graphql"] -= cost(body)
    root = {"rateLimit": _limit(world, cost(body)), "repository": lambda _, **names: _repository(world, **names)}
    deeds = {name: _deed(world, login, deed) for name, deed in DEEDS.items()}
    document = _document(body["query"])
    done = execute_sync(schema(), document, {**root, **deeds}, variable_values=body.get("variables"))
    kinds = {tuple(one.path or ()): KINDS.get(type(one.original_error)) for one in done.errors or ()}
    errors = [
        {**one, "type": kind} if (kind := kinds.get(tuple(one.get("path", ())))) else one
        for one in map(dict, done.formatted.get("errors", ()))
    ]
    return {**done.formatted, **({"errors": errors} if errors else {})}


def _limit(world: World, points: int) -> dict[str, Any]:
    left = world.left["graphql"]
    return {"cost": points, "limit": HOUR, "remaining": left, "used": HOUR - left, "resetAt": "2026-01-02T04:04:05Z"}


def _repository(world: World, owner: str, name: str, **_: Any) -> dict[str, Any] | None:
    if (owner.casefold(), name.casefold()) != (OWNER, NAME):
        return None
    return {
        **_named(REPOSITORY_ID, OWNER), "id": "R_ours", "object": lambda _, oid: _commit(world, oid),
        "pullRequest": lambda _, number: _existing_pull(world, number),
        "pullRequests": lambda _, **asked: _pulls(world, **asked),
        "label": lambda _, name: {"id": f"LA_{name}", "name": name} if name in world.labels else None,
    }  # fmt: skip


class _MissingError(Exception):
    """What is asked about is not there."""


class ForbiddenError(Exception):
    """What is asked about lies in an organisation that lets our token see nothing."""


KINDS: dict[type[Exception] | type[None], str] = {_MissingError: "NOT_FOUND", ForbiddenError: "FORBIDDEN"}


def _forbidden(*_: Any, **__: Any) -> Any:
    raise ForbiddenError("The organization has an IP allow list enabled, and your IP address is not permitted.")


def _existing_pull(world: World, number: int) -> dict[str, Any]:
    if number not in world.pulls:
        raise _MissingError(f"Could not resolve to a PullRequest with the number of {number}.")
    return _whole_pull(world, world.pulls[number])


def _named(identity: int, owner: str) -> dict[str, Any]:
    return {"id": f"R_{identity}", "databaseId": identity, "nameWithOwner": f"{owner}/{NAME}"}


def _pulls(world: World, first: int, **asked: Any) -> dict[str, Any]:
    wanted, base = asked.get("states") or [], asked.get("baseRefName")
    listed = [one for one in world.pulls.values() if _state(one) in wanted and base in (None, one.base_ref)]
    order = asked.get("orderBy") or {"field": "CREATED_AT", "direction": "ASC"}
    by_time = order["field"] == "UPDATED_AT"
    listed.sort(key=lambda one: (one.updated if by_time else 0, one.number), reverse=order["direction"] == "DESC")
    begin = int(asked.get("after") or 0)
    end = begin + first
    return {
        "nodes": [_whole_pull(world, one) for one in listed[begin:end]], "totalCount": len(listed),
        "pageInfo": {"hasNextPage": end < len(listed), "endCursor": str(end)},
    }  # fmt: skip


def _state(one: PullRequest) -> str:
    return "MERGED" if one.merged else one.state.upper()


def _actor(world: World, login: str) -> dict[str, Any] | None:
    """GraphQL names a robot without the ending that the other API gives it."""
    person = world.people.get(login)
    return person and {"__typename": person.type, "login": person.login.removesuffix("[bot]"), "databaseId": person.id}


def _whole_pull(world: World, one: PullRequest) -> dict[str, Any]:
    fork = None if one.fork_id is None else _named(one.fork_id, one.fork_owner or one.author)
    last = one.listed_last or one.head_sha
    mergeable = {True: "MERGEABLE", False: "CONFLICTING", None: "UNKNOWN"}[one.mergeable]
    return _pull(world, one) | {
        "id": f"PR_{one.number}",
        "state": _state(one),
        "title": one.title,
        "createdAt": one.created_at,
        "mergeable": mergeable,
        "headRefOid": one.head_sha,
        "headRefName": one.branch,
        "headRepository": _forbidden if one.forbidden else fork,
        "baseRepository": _named(REPOSITORY_ID, OWNER),
        "author": _actor(world, one.author),
        "labels": lambda _, first, **__: {
            "nodes": [{"id": f"LA_{name}", "name": name} for name in world.labelled.get(one.number, [])[:first]]
        },
        "comments": lambda _, first, **__: _comments(world, one.number, first),
        "commits": lambda _, **__: {"nodes": [{"commit": {"oid": last, "status": _status(world, last)}}]},
    }


def _comments(world: World, number: int, first: int) -> dict[str, Any]:
    own = [one for one in world.comments.values() if one.number == number]
    nodes = [
        {
            "id": f"IC_{one.id}", "fullDatabaseId": str(one.id), "author": _actor(world, one.author), "body": one.body,
            "createdAt": "2026-01-02T03:04:05Z",
        }
        for one in own[:first]
    ]  # fmt: skip
    return {"nodes": nodes, "totalCount": len(own)}


def _status(world: World, sha: str) -> dict[str, Any] | None:
    own = world.statuses_of(sha)

    def latest(_: Any, name: str) -> dict[str, Any] | None:
        named = next((one for one in reversed(own) if one["context"] == name), None)
        return named and {
            "context": name, "state": named["state"].upper(), "description": named["description"],
            "targetUrl": named["target_url"] or None, "creator": _actor(world, named["creator"]),
        }  # fmt: skip

    return {"context": latest} if own else None


# What a query may change


class _RefusedError(GraphQLError):
    """GitHub's answer to one deed of a query; the others are done."""


def _subject(world: World, node: str) -> int:
    number = int(node.removeprefix("PR_")) if node.startswith("PR_") else 0
    if number not in world.pulls:
        raise _RefusedError(f"Could not resolve to a node with the global id of '{node}'.")
    return number


def _add_comment(world: World, login: str, given: dict[str, Any]) -> None:
    number = _subject(world, given["subjectId"])
    if len(given["body"]) > 65_536:
        raise _RefusedError("Body is too long (maximum is 65536 characters)")
    world.comment(number, login, given["body"])


def _update_comment(world: World, login: str, given: dict[str, Any]) -> None:
    written = world.comments.get(int(given["id"].removeprefix("IC_")))
    if written is None or written.author != login or len(given["body"]) > 65_536:
        raise _RefusedError(f"Could not resolve to a node with the global id of '{given['id']}'.")
    written.body = given["body"]
    world.touch(written.number)


def _add_labels(world: World, login: str, given: dict[str, Any]) -> None:
    number = _subject(world, given["labelableId"])
    own = world.labelled.setdefault(number, [])
    own.extend(name for one in given["labelIds"] if (name := one.removeprefix("LA_")) not in own)
    world.touch(number)


def _remove_labels(world: World, login: str, given: dict[str, Any]) -> None:
    number = _subject(world, given["labelableId"])
    own = world.labelled.setdefault(number, [])
    own[:] = [name for name in own if f"LA_{name}" not in given["labelIds"]]
    world.touch(number)


REACTIONS = {"THUMBS_UP": "+1", "THUMBS_DOWN": "-1", "ROCKET": "rocket", "EYES": "eyes", "CONFUSED": "confused"}


def _add_reaction(world: World, login: str, given: dict[str, Any]) -> None:
    written = world.comments.get(int(given["subjectId"].removeprefix("IC_")))
    if written is None:
        raise _RefusedError(f"Could not resolve to a node with the global id of '{given['subjectId']}'.")
    written.reactions.append(REACTIONS[given["content"]])


DEEDS = {
    "addReaction": _add_reaction, "addComment": _add_comment,
    "updateIssueComment": _update_comment, "addLabelsToLabelable": _add_labels,
    "removeLabelsFromLabelable": _remove_labels,
}  # fmt: skip


def _deed(world: World, login: str, deed: Callable[[World, str, dict[str, Any]], None]) -> Any:
    def do(_: Any, input: dict[str, Any]) -> dict[str, Any]:  # noqa: A002  # GitHub's name for it
        deed(world, login, input)
        return {"clientMutationId": None}

    return do


def _commit(world: World, sha: str) -> dict[str, Any] | None:
    if sha in world.gone:
        return None
    by_github = sha not in world.signed_by_people
    signature = {"__typename": "GpgSignature", "isValid": True, "state": "VALID", "wasSignedByGitHub": by_github}
    pulls = [_pull(world, world.pulls[number]) for number in world.commits.get(sha, [])]
    pulls += [_pull(world, one, "R_fork") for one in world.elsewhere.get(sha, [])]
    return {
        "__typename": "Commit", "oid": sha, "signature": None if sha in world.unverified else signature,
        "status": _status(world, sha),
        "associatedPullRequests": lambda _, first, **__: {"nodes": pulls[:first], "totalCount": len(pulls)},
    }  # fmt: skip


def _pull(world: World, one: PullRequest, repository: str = "R_ours") -> dict[str, Any]:
    person = world.people.get(one.author)
    author = {"__typename": person.type, "login": person.login, "databaseId": person.id} if person else None
    merge = {"__typename": "Commit", "oid": one.merge_commit_sha} if one.merged and one.merge_commit_sha else None
    return {
        "merged": one.merged, "mergeCommit": merge, "author": author,
        "repository": _forbidden if one.forbidden and repository != "R_ours" else {"id": repository},
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


def _is_connection(field: FieldNode) -> bool:
    return any(one.name.value in ("first", "last") for one in field.arguments or ()) or (
        field.name.value in ("associatedPullRequests", "pullRequests", "comments", "labels", "commits")
    )


def _extent(document: DocumentNode) -> tuple[int, int]:
    """How many requests a query is by GitHub's count, one for each parent of a connection, and how many nodes."""
    fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}

    def walk(node: Any, times: int) -> tuple[int, int]:
        requests = nodes = 0
        selected = getattr(node, "selection_set", None)
        for inner in selected.selections if selected else ():
            if isinstance(inner, FragmentSpreadNode):
                more = walk(fragments[inner.name.value], times)
            elif isinstance(inner, FieldNode) and _is_connection(inner):
                size = max(_size(inner), 1)
                deeper = walk(inner, times * size)
                more = (deeper[0] + times, deeper[1] + times * size)
            else:
                more = walk(inner, times)
            requests, nodes = requests + more[0], nodes + more[1]
        return requests, nodes

    parts = [walk(one, 1) for one in document.definitions if not isinstance(one, FragmentDefinitionNode)]
    return sum(part[0] for part in parts), sum(part[1] for part in parts)


def _size(field: FieldNode) -> int:
    values = [one.value for one in field.arguments or () if one.name.value in ("first", "last")]
    return int(values[0].value) if len(values) == 1 and isinstance(values[0], IntValueNode) else 0
