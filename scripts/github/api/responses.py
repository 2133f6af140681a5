"""GitHub's answers as typed values, with the fields that the bot uses, each read from its place in the answer."""

import re
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import AliasPath, BeforeValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass

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


# An answer has more fields than we use, and a field of ours may lie deeper in it.
_ANSWER = ConfigDict(validate_by_name=True)
_Text = Annotated[str, BeforeValidator(lambda value: value or "")]
"""Empty where the answer has null."""


@dataclass(frozen=True, kw_only=True, config=_ANSWER)
class WorkflowRun:
    """A workflow run, by the API."""

    id: int
    """Later runs have greater ids."""
    event: str
    path: str
    """Its workflow file; some answers add `@ref`."""
    repository_id: int = Field(validation_alias=AliasPath("repository", "id"))
    head_repository_id: int | None = Field(default=None, validation_alias=AliasPath("head_repository", "id"))
    """None once the fork is deleted."""
    head_owner: str | None = Field(default=None, validation_alias=AliasPath("head_repository", "owner", "login"))
    head_branch: _Text
    """Chosen by a stranger."""
    head_sha: str
    html_url: str
    conclusion: str | None
    """None until it has ended."""
    created_at: str = ""

    def is_of(self, workflow: str) -> bool:
        """Whether it is of the workflow in that file."""
        return self.path.partition("@")[0] == f".github/workflows/{workflow}"


@dataclass(frozen=True, kw_only=True, config=_ANSWER)
class PullRequest:
    """A pull request, by the API."""

    number: int
    author: str = Field(default=GHOST, validation_alias=AliasPath("user", "login"))
    author_id: int = Field(default=0, validation_alias=AliasPath("user", "id"))
    """Stays the same when the login changes."""
    head_sha: str = Field(validation_alias=AliasPath("head", "sha"))
    head_repository_id: int | None = Field(default=None, validation_alias=AliasPath("head", "repo", "id"))
    """None once the fork is deleted."""
    base_repository_id: int = Field(validation_alias=AliasPath("base", "repo", "id"))
    base_ref: str = Field(validation_alias=AliasPath("base", "ref"))
    state: str
    merged: Annotated[bool, BeforeValidator(lambda at: at if isinstance(at, bool) else at is not None)] = Field(
        validation_alias="merged_at"
    )
    labels: Annotated[tuple[str, ...], BeforeValidator(lambda labels: tuple(map(_label_name, labels)))] = ()
    mergeable: bool | None = None
    """False on a conflict, None while GitHub does not know."""
    merge_commit_sha: str | None = None
    head_branch: str = Field(default="", validation_alias=AliasPath("head", "ref"))
    """Chosen by a stranger."""
    head_repository: str = Field(default="", validation_alias=AliasPath("head", "repo", "full_name"))
    """`owner/name`; empty once the fork is deleted."""
    created_at: str = ""


def _label_name(label: Any) -> str:
    return str(label["name"]) if isinstance(label, dict) else label


@dataclass(frozen=True, kw_only=True, config=_ANSWER)
class GitHubAccount:
    """A GitHub account."""

    login: str
    id: int


@dataclass(frozen=True, kw_only=True, config=_ANSWER)
class IssueComment:
    """A comment on an issue or pull request."""

    id: int
    """Later comments have greater ids."""
    author: str = Field(default=GHOST, validation_alias=AliasPath("user", "login"))
    author_type: str = Field(default="User", validation_alias=AliasPath("user", "type"))
    body: _Text = ""
    created_at: str
    node_id: str = ""
    """Its name in GraphQL."""


@dataclass(frozen=True, kw_only=True, config=_ANSWER)
class GitHubIssue:
    """An issue of the board's repository."""

    number: int
    author: str = Field(default=GHOST, validation_alias=AliasPath("user", "login"))
    title: str
    body: _Text = ""
    html_url: str


@dataclass(frozen=True, kw_only=True, config=_ANSWER)
class CommitStatus:
    """A status of a commit."""

    state: str
    """error, failure, pending or success."""
    context: str
    description: _Text
    creator: str = Field(default=GHOST, validation_alias=AliasPath("creator", "login"))
    target_url: str | None

    @property
    def pull(self) -> int | None:
        """The pull request that it links; several may have the commit. None if it links none."""
        return int(link[1]) if (link := self._link()) else None

    @property
    def is_of_queue(self) -> bool:
        """Whether it is of a merge queue's commit: that one links the run that set it, and no pull request."""
        return re.search(r"/actions/runs/[0-9]+\Z", self.target_url or "") is not None

    @property
    def main(self) -> str | None:
        """The commit of main that it was judged by; None if the address does not say."""
        return link[2] if (link := self._link()) else None

    def _link(self) -> re.Match[str] | None:
        return re.search(r"/pull/([1-9][0-9]{0,9})(?:#([0-9a-f]{40,64}))?\Z", self.target_url or "")
