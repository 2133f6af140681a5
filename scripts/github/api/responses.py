"""GitHub's answers as typed values, with the fields that the bot uses."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from scripts.console import OUR_FAULT, CommandError

BODY_CHARACTERS = 65_536
OUTSIDE_REPOSITORY = ("/orgs/", "/users/", "/user", "/rate_limit")  # Paths that are not below the repository.


def url_segment(text: str) -> str:
    """Text quoted as one segment of a URL path."""
    return quote(text, safe="")


def bounded_body(text: str) -> str:
    """The text of a comment, issue or pull request.

    Raises:
        CommandError: it is too long.
    """
    if len(text) > BODY_CHARACTERS:
        raise CommandError(OUR_FAULT, f"a text of {len(text):,} characters; GitHub takes {BODY_CHARACTERS:,}")
    return text


GHOST = "ghost"  # GitHub's name for deleted accounts.


@dataclass(frozen=True, kw_only=True)
class WorkflowRun:
    """A workflow run, by the API."""

    id: int
    """Later runs have greater ids."""
    event: str
    path: str
    """Its workflow file; some answers add `@ref`."""
    repository_id: int
    head_repository_id: int | None
    """None once the fork is deleted."""
    head_owner: str | None
    head_branch: str
    """Chosen by a stranger."""
    head_sha: str
    html_url: str
    conclusion: str | None
    """None until it has ended."""
    created_at: str = ""


@dataclass(frozen=True, kw_only=True)
class PullRequest:
    """A pull request, by the API."""

    number: int
    author: str
    author_id: int
    """Stays the same when the login changes."""
    head_sha: str
    head_repository_id: int | None
    """None once the fork is deleted."""
    base_repository_id: int
    base_ref: str
    state: str
    merged: bool
    labels: tuple[str, ...] = ()
    mergeable: bool | None = None
    """False on a conflict, None while GitHub does not know."""
    merge_commit_sha: str | None = None
    head_branch: str = ""
    """Chosen by a stranger."""
    head_repository: str = ""
    """`owner/name`; empty once the fork is deleted."""
    created_at: str = ""


@dataclass(frozen=True, kw_only=True)
class GitHubAccount:
    """A GitHub account."""

    login: str
    id: int


@dataclass(frozen=True, kw_only=True)
class IssueComment:
    """A comment on an issue or pull request."""

    id: int
    """Later comments have greater ids."""
    author: str
    author_type: str
    body: str
    created_at: str
    node_id: str = ""
    """Its name in GraphQL."""


@dataclass(frozen=True, kw_only=True)
class GitHubIssue:
    """An issue of the board's repository."""

    number: int
    author: str
    title: str
    body: str
    html_url: str


@dataclass(frozen=True, kw_only=True)
class CommitStatus:
    """A status of a commit."""

    state: str
    """error, failure, pending or success."""
    context: str
    description: str
    creator: str
    pull: int | None
    """The pull request that it links; several may have the commit. None if it links none."""
    main: str | None
    """The commit of main that it was judged by; None if the address does not say."""


def parse_account(answer: Any) -> GitHubAccount:
    """An account."""
    return GitHubAccount(login=str(answer["login"]), id=int(answer["id"]))


def parse_pull(answer: Any) -> PullRequest:
    """A pull request, from a list or alone."""
    head, user = answer["head"], answer["user"] or {}
    return PullRequest(
        number=int(answer["number"]),
        author=str(user.get("login", GHOST)),
        author_id=int(user.get("id", 0)),
        head_sha=str(head["sha"]),
        head_repository_id=int(head["repo"]["id"]) if head["repo"] else None,
        base_repository_id=int(answer["base"]["repo"]["id"]),
        base_ref=str(answer["base"]["ref"]),
        state=str(answer["state"]),
        merged=answer["merged_at"] is not None,
        labels=tuple(str(label["name"]) for label in answer["labels"]),
        mergeable=answer.get("mergeable"),
        merge_commit_sha=answer["merge_commit_sha"],
        head_branch=str(head["ref"]),
        head_repository=str(head["repo"]["full_name"]) if head["repo"] else "",
        created_at=str(answer["created_at"]),
    )


def parse_run(answer: Any) -> WorkflowRun:
    """A workflow run, from a list or alone."""
    head = answer["head_repository"]
    return WorkflowRun(
        id=int(answer["id"]),
        event=str(answer["event"]),
        path=str(answer["path"]),
        repository_id=int(answer["repository"]["id"]),
        head_repository_id=int(head["id"]) if head else None,
        head_owner=str(head["owner"]["login"]) if head else None,
        head_branch=str(answer["head_branch"] or ""),
        head_sha=str(answer["head_sha"]),
        html_url=str(answer["html_url"]),
        conclusion=answer["conclusion"],
        created_at=str(answer["created_at"]),
    )


def parse_comment(answer: Any) -> IssueComment:
    """A comment."""
    user = answer["user"] or {}
    return IssueComment(
        id=int(answer["id"]),
        author=str(user.get("login", GHOST)),
        author_type=str(user.get("type", "User")),
        body=str(answer.get("body") or ""),
        created_at=str(answer["created_at"]),
        node_id=str(answer["node_id"]),
    )


def parse_issue(answer: Any) -> GitHubIssue:
    """An issue."""
    user = answer["user"] or {}
    return GitHubIssue(
        number=int(answer["number"]),
        author=str(user.get("login", GHOST)),
        title=str(answer["title"]),
        body=str(answer.get("body") or ""),
        html_url=str(answer["html_url"]),
    )


def parse_status(answer: Any) -> CommitStatus:
    """A commit status."""
    creator = answer["creator"] or {}
    pull, main = linked_pull(answer["target_url"])
    return CommitStatus(
        state=str(answer["state"]),
        context=str(answer["context"]),
        description=str(answer["description"] or ""),
        creator=str(creator.get("login", GHOST)),
        pull=pull,
        main=main,
    )


def linked_pull(address: str | None) -> tuple[int | None, str | None]:
    """The pull request that a status' address leads to, and the commit of main it names; None for what it does not say."""
    found = re.search(r"/pull/([1-9][0-9]{0,9})(?:#([0-9a-f]{40,64}))?\Z", address or "")
    return (int(found[1]), found[2]) if found else (None, None)
