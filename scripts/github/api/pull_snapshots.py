"""Many pull requests in one request: what they are, what was said of their newest commits, and their comments."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from scripts.console import say
from scripts.github.api.client import SERVER_FAILURE, STATUS_CONTEXT, GitHub, GitHubError
from scripts.github.api.responses import GHOST, CommitStatus, IssueComment, PullRequest

PULLS_PER_PAGE = 100
# Comments of each pull request that are read with it. A body may have 65,536 characters.
COMMENTS_READ = 10
_NEXT_PAGE = "pageInfo { hasNextPage endCursor }"
_MERGEABLE = {"MERGEABLE": True, "CONFLICTING": False}

_PULL_FIELDS = """fragment pull on PullRequest {
  id number state merged mergeable createdAt headRefOid headRefName baseRefName
  mergeCommit { oid }
  author { ...actor }
  headRepository { databaseId nameWithOwner }
  baseRepository { databaseId }
  labels(first: 20) { nodes { name } }
}"""
_ACTOR_FIELDS = """fragment actor on Actor {
  __typename login
  ... on User { databaseId } ... on Bot { databaseId } ... on Organization { databaseId }
}"""
_COMMIT_FIELDS = f"""fragment commit on Commit {{
  oid status {{ context(name: "{STATUS_CONTEXT}") {{ state description targetUrl creator {{ ...actor }} }} }}
}}"""
_STATUS_FIELDS = "commits(last: 1) { nodes { commit { ...commit } } }"
_COMMENT_FIELDS = f"""comments(first: {COMMENTS_READ}) {{
  totalCount nodes {{ id fullDatabaseId createdAt body author {{ ...actor }} }}
}}"""


@dataclass(frozen=True, kw_only=True)
class PullSnapshot:
    """A pull request at one moment."""

    pull: PullRequest
    node_id: str
    """Its name in GraphQL."""
    status: CommitStatus | None
    """The last that anybody set on the newest commit under our name; None also if it was not read."""
    is_status_read: bool = True
    """False where GitHub listed another commit last, and was not asked about the newest one."""
    comments: tuple[IssueComment, ...] = ()
    """The first comments, oldest first; none if they were not read."""
    comment_count: int = 0
    """Of all comments."""


def recent_pulls(github: GitHub, base: str) -> Iterator[list[PullSnapshot]]:
    """The open pull requests into a branch, the last changed first, a hundred in each request."""
    return (_with_statuses(github, page) for page in _pages(github, base, "OPEN", _STATUS_FIELDS))


def merged_pulls(github: GitHub, base: str, at_most: int) -> Iterator[PullRequest]:
    """Merged pull requests into a branch, the last updated first, a hundred in each request; pages as they are needed."""
    pages = _pages(github, base, "MERGED", "")
    return islice((snapshot.pull for page in pages for snapshot in page), at_most)


def _with_statuses(github: GitHub, page: list[PullSnapshot]) -> list[PullSnapshot]:
    """The same with the statuses of commits that GitHub did not list last, in one more request, however many they are.

    Its order follows dates and pushes, which an author chooses.
    """
    shas = sorted({snapshot.pull.head_sha for snapshot in page if not snapshot.is_status_read})
    if not shas:
        return page
    declared = "".join(f", $c{i}: GitObjectID!" for i in range(len(shas)))
    fields = " ".join(f"c{i}: object(oid: $c{i}) {{ ...commit }}" for i in range(len(shas)))
    variables = {f"c{i}": sha for i, sha in enumerate(shas)}
    answer = github.query_repository(fields, variables, declared, f"{_COMMIT_FIELDS}\n{_ACTOR_FIELDS}")
    commits = {commit["oid"]: commit for i in range(len(shas)) if (commit := answer[f"c{i}"])}
    return [
        replace(snapshot, status=_parse_status(commit), is_status_read=True)
        if not snapshot.is_status_read and (commit := commits.get(snapshot.pull.head_sha))
        else snapshot
        for snapshot in page
    ]


def _pages(github: GitHub, base: str, state: str, more: str) -> Iterator[list[PullSnapshot]]:
    """Pull requests in a state, with more fields."""
    fragments = _fragments(more)
    arguments = f"first: {PULLS_PER_PAGE}, states: [{state}], baseRefName: $base, after: $after"
    order = "orderBy: {field: UPDATED_AT, direction: DESC}"
    fields = f"pullRequests({arguments}, {order}) {{ nodes {{ ...pull {more} }} {_NEXT_PAGE} }}"
    after: str | None = None
    while True:
        variables = {"base": base, "after": after}
        repository = github.query_repository(fields, variables, ", $base: String!, $after: String", fragments)
        page = repository["pullRequests"]
        yield [_parse_snapshot(node) for node in page["nodes"] if node]
        if not page["pageInfo"]["hasNextPage"]:
            return
        after = page["pageInfo"]["endCursor"]


def read_pulls(github: GitHub, numbers: Sequence[int], *, with_status: bool = True) -> dict[int, PullSnapshot]:
    """Some pull requests as they are now, with their comments, in one request; without those that are not there.

    What GitHub gives up in one request is asked for in halves: strangers choose how long and how many the comments are. One
    that it gives up alone is left out: it keeps no other waiting.
    Not every job may read statuses; one that asks for what it may not read gets no answer.
    """
    if not numbers:
        return {}
    statuses = _STATUS_FIELDS if with_status else ""
    selection = f"...pull {_COMMENT_FIELDS} {statuses}"
    fields = " ".join(f"p{number}: pullRequest(number: {number}) {{ {selection} }}" for number in numbers)
    try:
        repository = github.query_repository(fields, {}, "", _fragments(statuses))
    except GitHubError as error:
        if error.status < SERVER_FAILURE:
            raise
        if len(numbers) == 1:
            github.raise_unless_alone(error)
            say(f"#{numbers[0]} could not be read: {error}")
            return {}
        half = len(numbers) // 2
        halves = (read_pulls(github, part, with_status=with_status) for part in (numbers[:half], numbers[half:]))
        return {number: snapshot for part in halves for number, snapshot in part.items()}
    return {number: _parse_snapshot(node) for number in numbers if (node := repository[f"p{number}"])}


def _fragments(statuses: str) -> str:
    return "\n".join((_PULL_FIELDS, _ACTOR_FIELDS, *([_COMMIT_FIELDS] if statuses else [])))


def label_nodes(github: GitHub, names: Sequence[str]) -> dict[str, str]:
    """The names in GraphQL of those labels that the repository has."""
    declared = "".join(f", $l{i}: String!" for i in range(len(names)))
    fields = " ".join(f"l{i}: label(name: $l{i}) {{ id }}" for i in range(len(names)))
    repository = github.query_repository(fields, {f"l{i}": name for i, name in enumerate(names)}, declared)
    return {name: str(node["id"]) for i, name in enumerate(names) if (node := repository[f"l{i}"])}


def _parse_snapshot(node: dict[str, Any]) -> PullSnapshot:
    head, merge = node["headRepository"], node["mergeCommit"]
    author, author_id, _ = _parse_actor(node["author"])
    commit: dict[str, Any] = next((item["commit"] for item in node.get("commits", {}).get("nodes", ()) if item), {})
    pull = PullRequest(
        number=int(node["number"]),
        author=author,
        author_id=author_id,
        head_sha=str(node["headRefOid"]),
        head_repository_id=int(head["databaseId"]) if head else None,
        base_repository_id=int((node["baseRepository"] or {}).get("databaseId") or 0),
        base_ref=str(node["baseRefName"]),
        state="open" if node["state"] == "OPEN" else "closed",
        merged=bool(node["merged"]),
        labels=tuple(str(label["name"]) for label in node["labels"]["nodes"]),
        mergeable=_MERGEABLE.get(node["mergeable"]),
        merge_commit_sha=str(merge["oid"]) if merge else None,
        head_branch=str(node["headRefName"]),
        head_repository=str(head["nameWithOwner"]) if head else "",
        created_at=str(node["createdAt"]),
    )
    is_newest = commit.get("oid") == pull.head_sha
    comments = node.get("comments")
    return PullSnapshot(
        pull=pull, node_id=str(node["id"]), status=_parse_status(commit) if is_newest else None,
        is_status_read=is_newest, comments=_parse_comments(comments),
        comment_count=comments["totalCount"] if comments else 0,
    )  # fmt: skip


def _parse_actor(node: dict[str, Any] | None) -> tuple[str, int, str]:
    """Login, id and type as the other API has them: it ends a robot's login with [bot]."""
    if node is None:
        return GHOST, 0, "User"
    kind = str(node["__typename"])
    return f"{node['login']}{'[bot]' if kind == 'Bot' else ''}", int(node.get("databaseId") or 0), kind


def _parse_status(commit: dict[str, Any]) -> CommitStatus | None:
    context = (commit.get("status") or {}).get("context")
    if not context:
        return None
    state = {"EXPECTED": "pending"}.get(context["state"], str(context["state"]).lower())
    creator = _parse_actor(context["creator"])[0]
    return CommitStatus(
        state=state, context=STATUS_CONTEXT, description=str(context["description"] or ""), creator=creator,
        target_url=context["targetUrl"],
    )  # fmt: skip


def _parse_comments(connection: dict[str, Any] | None) -> tuple[IssueComment, ...]:
    comments = []
    for node in connection["nodes"] if connection else ():
        author, _, kind = _parse_actor(node["author"])
        comments.append(
            IssueComment(
                id=int(node["fullDatabaseId"]), author=author, author_type=kind, body=str(node["body"]),
                created_at=str(node["createdAt"]), node_id=str(node["id"]),
            )
        )  # fmt: skip
    return tuple(comments)
