"""The environment and the event of a workflow step, and what its token gives access to: GitHub, and the clone's remote.

This is the only reader of GITHUB_* variables and of the event file.
"""

import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from evaluator.model.canonical_json import parse_strict
from scripts.console import USAGE, CommandError
from scripts.git.git_repository import Credentials, GitRepository
from scripts.github.api.client import GitHub
from scripts.github.api.responses import PullRequest
from scripts.repository.layout import REPOSITORY_NAME

BOT_LOGIN = "github-actions[bot]"
EVENT_BYTES = 25 << 20  # GitHub's limit.

COMMIT_SHA = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, kw_only=True)
class PullEvent:
    """The pull request of a `pull_request` event."""

    number: int
    author: str
    author_id: int
    """GitHub's account id: a login can be given up and registered by somebody else."""
    head_sha: str
    base_sha: str
    """The commit of the base branch that GitHub compared with."""


@dataclass(frozen=True, kw_only=True)
class CommentEvent:
    """The comment of an `issue_comment` event."""

    action: str
    node_id: str
    """The comment's name in GraphQL."""
    body: str
    """Untrusted text."""
    author: str
    author_id: int
    author_type: str
    """User, Bot or Organization."""
    number: int
    on_pull: bool


@dataclass(frozen=True, kw_only=True)
class MergeGroup:
    """The commit of a `merge_group` event, which a merge queue would make the tip of a branch."""

    head_sha: str
    head_ref: str
    base_ref: str


@dataclass(frozen=True, kw_only=True)
class WorkflowEnvironment:
    """The environment of a workflow step."""

    event_name: str
    event: Mapping[str, Any]
    """The payload; read it through the functions below."""
    repository: str
    """`owner/name`."""
    repository_id: int
    sha: str
    """The commit that triggered the run: on the default branch in every privileged workflow."""
    run_id: int
    """Later runs have greater ids."""
    api_url: str
    graphql_url: str
    """Empty if the variable is not set: the address is then derived from `api_url`."""
    server_url: str
    token: str = field(repr=False)
    """Empty in the untrusted preview."""
    summary_path: Path | None
    output_path: Path | None
    workspace: Path
    bot: str = BOT_LOGIN
    """Login of the account whose comments are ours."""
    pace: float = 1.0
    """Seconds between two writes, because of GitHub's secondary rate limits."""

    @property
    def run_url(self) -> str:
        """The page of this run."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}"


def read_workflow_environment(environ: Mapping[str, str]) -> WorkflowEnvironment:
    """Read the variables and the event file of a workflow run.

    Raises:
        CommandError: one is missing or malformed.
    """
    return WorkflowEnvironment(
        event_name=_variable(environ, "GITHUB_EVENT_NAME", re.compile(r"[a-z_]{1,50}")),
        event=_event(Path(_variable(environ, "GITHUB_EVENT_PATH"))),
        repository=_variable(environ, "GITHUB_REPOSITORY", REPOSITORY_NAME),
        repository_id=int(_variable(environ, "GITHUB_REPOSITORY_ID", re.compile(r"\d{1,20}"))),
        sha=_variable(environ, "GITHUB_SHA", COMMIT_SHA),
        run_id=int(_variable(environ, "GITHUB_RUN_ID", re.compile(r"\d{1,20}"))),
        api_url=_address(environ, "GITHUB_API_URL", "https://api.github.com"),
        graphql_url=_address(environ, "GITHUB_GRAPHQL_URL", ""),
        server_url=_address(environ, "GITHUB_SERVER_URL", "https://github.com"),
        token=environ.get("GITHUB_TOKEN", ""),
        summary_path=_path(environ, "GITHUB_STEP_SUMMARY"),
        output_path=_path(environ, "GITHUB_OUTPUT"),
        workspace=Path(environ.get("GITHUB_WORKSPACE") or "."),
        bot=environ.get("PULLRANK_BOT") or BOT_LOGIN,
        pace=float(_variable({"PULLRANK_PACE": "1", **environ}, "PULLRANK_PACE", re.compile(r"\d{1,2}(\.\d{1,3})?"))),
    )


def pull_event(workflow: WorkflowEnvironment) -> PullEvent:
    """The pull request that triggered the run.

    Raises:
        CommandError: the event has none.
    """
    event = workflow.event
    return PullEvent(
        number=_number(event, "pull_request", "number"),
        author=_text(event, "pull_request", "user", "login"),
        author_id=_number(event, "pull_request", "user", "id"),
        head_sha=_sha(event, "pull_request", "head", "sha"),
        base_sha=_sha(event, "pull_request", "base", "sha"),
    )


def workflow_run_id(workflow: WorkflowEnvironment) -> int:
    """The run whose end triggered this one.

    Raises:
        CommandError: the event has none.
    """
    return _number(workflow.event, "workflow_run", "id")


def comment_event(workflow: WorkflowEnvironment) -> CommentEvent:
    """The comment that triggered the run.

    Raises:
        CommandError: the event has none.
    """
    event = workflow.event
    return CommentEvent(
        action=_text(event, "action"),
        node_id=_text(event, "comment", "node_id"),
        body=_text(event, "comment", "body"),
        author=_text(event, "comment", "user", "login"),
        author_id=_number(event, "comment", "user", "id"),
        author_type=_text(event, "comment", "user", "type"),
        number=_number(event, "issue", "number"),
        on_pull=_value(event, "issue", "pull_request") is not None,
    )


def merge_group(workflow: WorkflowEnvironment) -> MergeGroup:
    """The merge queue's commit that triggered the run.

    Raises:
        CommandError: the event has none.
    """
    event = workflow.event
    return MergeGroup(
        head_sha=_sha(event, "merge_group", "head_sha"),
        head_ref=_text(event, "merge_group", "head_ref"),
        base_ref=_text(event, "merge_group", "base_ref"),
    )


def dispatch_input(workflow: WorkflowEnvironment, name: str) -> str:
    """An input of a `workflow_dispatch` event; empty if it was not given."""
    value = _value(workflow.event, "inputs", name)
    return value if isinstance(value, str) else ""


def dispatched_commit(workflow: WorkflowEnvironment) -> tuple[int, str]:
    """The pull request and its commit that the inputs of a `workflow_dispatch` event name.

    Raises:
        CommandError: the inputs are not a number and a commit.
    """
    number, sha = dispatch_input(workflow, "pull"), dispatch_input(workflow, "sha")
    if not (number.isascii() and number.isdecimal()) or not COMMIT_SHA.fullmatch(sha):
        raise CommandError(USAGE, "the inputs are 'pull', a number, and 'sha', all 40 digits of a commit")
    return int(number), sha


def as_pull_event(workflow: WorkflowEnvironment, pull: PullRequest) -> WorkflowEnvironment:
    """The same run with the event that a push to a pull request would have."""
    author = {"login": pull.author, "id": pull.author_id}
    event = {"number": pull.number, "user": author, "head": {"sha": pull.head_sha}, "base": {"sha": workflow.sha}}
    return replace(workflow, event={"pull_request": event})


def _variable(environ: Mapping[str, str], name: str, form: re.Pattern[str] | None = None) -> str:
    value = environ.get(name, "")
    if not value:
        raise CommandError(USAGE, f"{name} is not set; 'pullrank bot' runs in a GitHub workflow")
    if form is not None and not form.fullmatch(value):
        raise CommandError(USAGE, f"{name} is {value[:80]!r}, which is malformed; check the workflow's env")
    return value


def _address(environ: Mapping[str, str], name: str, usual: str) -> str:
    value = environ.get(name) or usual
    if value and not re.fullmatch(r"https?://[A-Za-z0-9.-]+(:\d{1,5})?(/[A-Za-z0-9._/-]*)?", value):
        raise CommandError(USAGE, f"{name} is {value[:80]!r}, which is no address; check the workflow's env")
    return value.rstrip("/")


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    return Path(environ[name]) if environ.get(name) else None


def _event(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > EVENT_BYTES:
            raise CommandError(USAGE, f"GITHUB_EVENT_PATH: the event is larger than {EVENT_BYTES >> 20} MiB")
        event = parse_strict(path.read_bytes())
    except OSError as error:
        raise CommandError(USAGE, f"GITHUB_EVENT_PATH: the event cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise CommandError(USAGE, f"GITHUB_EVENT_PATH: the event is not JSON ({error})") from error
    if not isinstance(event, dict):
        raise CommandError(USAGE, "GITHUB_EVENT_PATH: the event is not a JSON object")
    return event


def _value(event: Mapping[str, Any], *steps: str) -> Any:
    value: Any = event
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _text(event: Mapping[str, Any], *steps: str) -> str:
    value = _value(event, *steps)
    return value if isinstance(value, str) else _refuse("text", steps)


def _number(event: Mapping[str, Any], *steps: str) -> int:
    value = _value(event, *steps)
    return value if isinstance(value, int) and not isinstance(value, bool) else _refuse("number", steps)


def _sha(event: Mapping[str, Any], *steps: str) -> str:
    value = _text(event, *steps)
    return value if COMMIT_SHA.fullmatch(value) else _refuse("commit id", steps)


def _refuse(kind: str, steps: tuple[str, ...]) -> NoReturn:
    raise CommandError(USAGE, f"the event has no {kind} at {'.'.join(steps)}; is this command right for this trigger?")


TEAMS_VARIABLE = "PULLRANK_TEAMS_TOKEN"
"""A token that may read teams: the workflow's own sees public members only."""


def open_github(workflow: WorkflowEnvironment) -> GitHub:
    """The repository on GitHub.

    Raises:
        CommandError: the step was given no token.
    """
    if not workflow.token:
        raise CommandError(USAGE, "GITHUB_TOKEN is not set; give it to the step by env")
    return GitHub(
        workflow.token, workflow.api_url, workflow.repository, graphql_url=workflow.graphql_url, pace=workflow.pace
    )


def open_github_for_teams(workflow: WorkflowEnvironment, environ: MutableMapping[str, str]) -> GitHub:
    """The repository on GitHub, with the token for teams if it is set; it is removed, so that no child process inherits it.

    Raises:
        CommandError: neither token is set.
    """
    token = environ.pop(TEAMS_VARIABLE, "")
    return open_github(replace(workflow, token=token) if token else workflow)


def open_clone(workflow: WorkflowEnvironment) -> GitRepository:
    """The checked-out clone; without a token only what needs no remote works, or a public one."""
    credentials = Credentials(server_url=workflow.server_url, token=workflow.token) if workflow.token else None
    return GitRepository(workflow.workspace.resolve(), credentials)
