"""The GitHub API, as far as the bot needs it: the only importer of PyGithub.

PyGithub provides the connection, the token, pacing, errors and rate limits; every request is written out here.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self
from urllib.parse import urlsplit

import requests
from github import Auth, Github, GithubException
from github.GithubRetry import GithubRetry
from requests.utils import parse_header_links
from urllib3.response import BaseHTTPResponse

from scripts.console import OUR_FAULT, CommandError
from scripts.github.api.downloads import download
from scripts.github.api.responses import (
    OUTSIDE_REPOSITORY,
    CommitStatus,
    GitHubAccount,
    GitHubIssue,
    IssueComment,
    PullRequest,
    WorkflowRun,
    bounded_body,
    url_segment,
)

STATUS_CONTEXT = "pullrank"
DESCRIPTION_CHARACTERS = 140
REQUEST_TRIES = 8
# From this status on it is GitHub's side that failed, such as by work that took it too long.
SERVER_FAILURE = 500
LONGEST_WAIT = 300.0
PAGE_ENTRIES, PAGES_READ = 100, 100
# All that GitHub lists of the runs of a branch: a stranger's may come before ours.
FILTERED_RUNS = 1000
ARTIFACT_PAGES = 10
# Ten thousand comments would cost a hundred of an hour's thousand requests whenever their pull request is told something.
COMMENTS_LISTED = 500
# What is left of the hour's requests, and of its points of GraphQL, by whom. Reports leave it to commands, official runs and
# the hourly run, and commands, which anybody may write, to the others. An answer to a command takes two points and no
# request, a run that is started again six requests, twenty announcements two points, a question about commits one.
REPORTS_LEAVE_REQUESTS, COMMANDS_LEAVE_REQUESTS = 80, 40
COMMANDS_LEAVE_POINTS, COMMITS_LEAVE_POINTS = 100, 50
# Of either.
ANNOUNCEMENTS_LEAVE = 100


class GitHubError(CommandError):
    """GitHub refused or could not be reached; one line says why."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(OUR_FAULT, line)
        self.status = status


class _RetryPolicy(GithubRetry):
    """PyGithub's retry rules, with a limit on waits and a replaceable sleep."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pause = sleep

    def new(self, **kw: Any) -> Self:
        return super().new(sleep=self.pause, **kw)

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        retry_after = self.get_retry_after(response) if response is not None else None
        seconds = max(retry_after or 0.0, self.get_backoff_time())
        if seconds > LONGEST_WAIT:
            raise CommandError(OUR_FAULT, f"GitHub asks to wait {seconds:.0f} s; the hourly run goes on from here")
        if seconds > 0:
            self.pause(seconds)


@dataclass(frozen=True, kw_only=True)
class RequestLimit:
    """The requests that all jobs of a repository may send in an hour."""

    most: int
    used: int
    ends_at: float
    """When the hour ends, in seconds since 1970."""

    @property
    def left(self) -> int:
        """What is left of it."""
        return self.most - self.used


@dataclass(frozen=True, kw_only=True)
class GraphQLChange:
    """One change among several that are made in one request."""

    name: str
    """Of the mutation, such as addComment."""
    input: dict[str, Any]


class GitHub:
    """One repository on GitHub."""

    def __init__(
        self,
        token: str,
        api_url: str,
        repository: str,
        *,
        graphql_url: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
        pace: float = 1.0,
    ) -> None:
        """Send nothing yet. `pace`: seconds between two writes, because of GitHub's secondary rate limits."""
        self._sleep = sleep
        # 403 and 429 that ask for it, 5xx and dropped connections are tried again.
        retry = _RetryPolicy(
            sleep, total=REQUEST_TRIES - 1, backoff_factor=1, backoff_max=60, status_forcelist=[403, 429, *range(500, 600)],
            allowed_methods=None, raise_on_status=False, retry_after_max=86_400, max_rate_limit_wait=LONGEST_WAIT,
        )  # fmt: skip
        self._api_url = api_url
        self._base = f"/repos/{repository}"
        self._requester = Github(
            base_url=api_url, auth=Auth.Token(token), retry=retry, per_page=PAGE_ENTRIES, lazy=True,
            seconds_between_requests=pace / 4, seconds_between_writes=pace,
        ).requester  # fmt: skip
        self._graphql_url = graphql_url or self._requester.graphql_url
        self._repository = repository
        self._pace = pace
        self._labelled: set[str] = set()
        self.label_nodes: dict[str, str] = {}
        """Names of labels in GraphQL, as far as they were asked for."""
        self._left: dict[str, int] = {}
        self._artifacts: dict[tuple[int, str], Any] = {}

    @property
    def requests_left(self) -> int | None:
        """Requests left this hour, by the last answer; None before the first. GraphQL has a limit of its own."""
        return self._left.get("core")

    @property
    def points_left(self) -> int | None:
        """Points of GraphQL left this hour, by the last answer; None before the first."""
        return self._left.get("graphql")

    # Pull requests and runs

    def pull(self, number: int) -> PullRequest:
        """The pull request as it is now."""
        return PullRequest(**self._ask("GET", f"/pulls/{number}"))

    def open_pulls(self, head: str | None = None) -> list[PullRequest]:
        """Open pull requests, all or those from a branch `owner:branch`."""
        return [PullRequest(**answer) for answer in self._all("/pulls", state="open", head=head)]

    def newest_pulls(self, at_most: int) -> list[PullRequest]:
        """Pull requests in any state, the newest first."""
        answers = self._all("/pulls", at_most=at_most, state="all", sort="created", direction="desc")
        return [PullRequest(**answer) for answer in answers]

    def open_pull(self, head: str, base: str, title: str, body: str) -> PullRequest:
        """Open a pull request; `head` is `owner:branch` for a fork."""
        sent = {"head": head, "base": base, "title": title, "body": bounded_body(body), "maintainer_can_modify": False}
        return PullRequest(**self._ask("POST", "/pulls", sent))

    def merge_pull(self, number: int, head_sha: str, method: str) -> str:
        """Merge a pull request at a commit, by `merge` or `squash`; returns main's new commit.

        Raises:
            GitHubError: a rule forbids it (405), or the pull request has moved on (409).
        """
        sent = {"sha": head_sha, "merge_method": method}
        return str(self._ask("PUT", f"/pulls/{number}/merge", sent)["sha"])

    def close_pull(self, number: int) -> None:
        """Close a pull request without merging it."""
        self._ask("PATCH", f"/pulls/{number}", {"state": "closed"})

    def pulls_of_commit(self, sha: str) -> list[PullRequest]:
        """The pull requests that contain a commit."""
        return [PullRequest(**answer) for answer in self._all(f"/commits/{sha}/pulls")]

    def run(self, run_id: int) -> WorkflowRun:
        """A workflow run as it is now."""
        return WorkflowRun(**self._ask("GET", f"/actions/runs/{run_id}"))

    def runs_of(self, head_sha: str) -> list[WorkflowRun]:
        """The workflow runs of a commit, newest first."""
        return [WorkflowRun(**answer) for answer in self._all("/actions/runs", head_sha=head_sha)]

    def runs_of_workflow(self, workflow: str, branch: str | None, at_most: int) -> Iterator[WorkflowRun]:
        """The latest runs of a workflow file on a branch of ours, or on any, newest first; pages are read as needed."""
        path = f"/actions/workflows/{url_segment(workflow)}/runs"
        listed = self._all(path, at_most=max(at_most, FILTERED_RUNS), branch=branch)
        runs = (WorkflowRun(**answer) for answer in listed)
        # The branch of a pull request's run is the fork's, and may have the name of ours.
        return islice((run for run in runs if branch is None or not run.event.startswith("pull_request")), at_most)

    def attempts(self, run_id: int) -> int:
        """How often a run was started."""
        return int(self._ask("GET", f"/actions/runs/{run_id}")["run_attempt"])

    def rerun(self, run_id: int) -> None:
        """Start a finished run again."""
        self._ask("POST", f"/actions/runs/{run_id}/rerun")

    def dispatch(self, workflow: str, ref: str, inputs: dict[str, str]) -> None:
        """Start a workflow file of a branch."""
        self._ask("POST", f"/actions/workflows/{url_segment(workflow)}/dispatches", {"ref": ref, "inputs": inputs})

    def artifact(self, run_id: int, name: str, cap: int) -> bytes | None:
        """The zip of a run's artifact; None if there is none, it has expired, or it is larger than `cap` bytes."""
        cached = self._artifacts.get((run_id, name))
        listed = [cached] if cached else self._all(f"/actions/runs/{run_id}/artifacts", name=name)
        artifacts = [
            artifact
            for artifact in listed
            if artifact["name"] == name and not artifact["expired"] and artifact["size_in_bytes"] <= cap
        ]
        if not artifacts:
            return None
        newest = max(artifacts, key=lambda artifact: int(artifact["id"]))
        headers, _ = self._send("GET", f"{self._base}/actions/artifacts/{newest['id']}/zip", {})
        return download(str(headers.get("location", "")), cap, scheme=urlsplit(self._api_url).scheme)

    def list_artifacts(self, name: str, run_ids: Collection[int]) -> None:
        """Learn of many runs' artifacts of a name at once, so that `artifact` need not list each run's own.

        Lists a hundred in each request, the newest first, until all are known or that costs half of what each alone would.
        """
        missing = set(run_ids)
        at_most = PAGE_ENTRIES * max(1, min(len(missing) // 2, ARTIFACT_PAGES))
        for artifact in self._all("/actions/artifacts", at_most=at_most, name=name):
            run_id = int((artifact["workflow_run"] or {}).get("id") or 0)
            cached = self._artifacts.get((run_id, str(artifact["name"])))
            if cached is None or int(cached["id"]) < int(artifact["id"]):
                self._artifacts[run_id, str(artifact["name"])] = artifact
            missing.discard(run_id)
            if not missing:
                break

    # Comments, reactions, labels, statuses

    def comments(self, number: int) -> list[IssueComment]:
        """The comments on an issue or pull request, oldest first; as many as anybody writes who has something to say."""
        answers = self._all(f"/issues/{number}/comments", at_most=COMMENTS_LISTED)
        return [IssueComment(**answer) for answer in answers]

    def create_comment(self, number: int, body: str) -> IssueComment:
        """Write a comment."""
        return IssueComment(**self._ask("POST", f"/issues/{number}/comments", {"body": bounded_body(body)}))

    def edit_comment(self, comment_id: int, body: str) -> None:
        """Replace a comment's text."""
        self._ask("PATCH", f"/issues/comments/{comment_id}", {"body": bounded_body(body)})

    def delete_comment(self, comment_id: int) -> None:
        """Delete a comment; one that is gone already is no error."""
        self._ask("DELETE", f"/issues/comments/{comment_id}", missing=True)

    def ensure_labels(self, labels: dict[str, tuple[str, str]]) -> None:
        """Create missing labels, given as a map from names to colour and description."""
        if labels.keys() <= self._labelled:
            return
        existing = {str(label["name"]).casefold() for label in self._all("/labels")}
        for name, (colour, description) in labels.items():
            if name.casefold() not in existing:
                self._ask("POST", "/labels", {"name": name, "color": colour, "description": description})
        self._labelled |= labels.keys()

    def labels(self, number: int) -> list[str]:
        """The labels of an issue or pull request."""
        return [str(label["name"]) for label in self._all(f"/issues/{number}/labels")]

    def remove_label(self, number: int, name: str) -> None:
        """Remove a label; one that is gone already is no error."""
        self._ask("DELETE", f"/issues/{number}/labels/{url_segment(name)}", missing=True)

    def set_status(self, sha: str, state: str, description: str, target_url: str) -> None:
        """Set our status of a commit."""
        body = {"state": state, "context": STATUS_CONTEXT, "description": description[:DESCRIPTION_CHARACTERS]}
        self._ask("POST", f"/statuses/{sha}", {**body, "target_url": target_url})

    def statuses(self, sha: str) -> list[CommitStatus]:
        """The statuses of a commit, newest first."""
        return [CommitStatus(**answer) for answer in self._all(f"/commits/{sha}/statuses")]

    # People and trust

    def account(self) -> GitHubAccount:
        """The token's account; a workflow's own token has none."""
        return GitHubAccount(**self._ask("GET", "/user"))

    def permission(self, login: str) -> str:
        """The login's permission: admin, write, read or none."""
        answer = self._ask("GET", f"/collaborators/{url_segment(login)}/permission", missing=True)
        return str(answer["permission"]) if answer else "none"

    def is_member(self, login: str, team: str) -> bool:
        """Whether a login is in `organisation/team`, or publicly in an organisation; False if the token cannot see it."""
        organisation, _, slug = team.partition("/")
        path = f"/orgs/{url_segment(organisation)}"
        member_path = (
            f"/teams/{url_segment(slug)}/memberships/{url_segment(login)}"
            if slug
            else f"/public_members/{url_segment(login)}"
        )
        try:
            _, answer = self._send("GET", path + member_path, {})
        except GitHubError as error:
            if error.status in (403, 404):
                return False
            raise
        return not slug or (isinstance(answer, dict) and answer.get("state") == "active")

    # Issues

    def issues_by_label(self, label: str) -> list[GitHubIssue]:
        """The open issues with a label, oldest first."""
        answers = self._all("/issues", labels=label, state="open", sort="created", direction="asc")
        return [GitHubIssue(**answer) for answer in answers if "pull_request" not in answer]

    def create_issue(self, title: str, body: str, labels: list[str]) -> GitHubIssue:
        """Open an issue."""
        return GitHubIssue(**self._ask("POST", "/issues", {"title": title, "body": bounded_body(body), "labels": labels}))

    def edit_issue(self, number: int, body: str) -> None:
        """Replace an issue's text."""
        self._ask("PATCH", f"/issues/{number}", {"body": bounded_body(body)})

    def close_issue(self, number: int) -> None:
        """Close an issue as done."""
        self._ask("PATCH", f"/issues/{number}", {"state": "closed", "state_reason": "completed"})

    # Settings, for `pullrank doctor`

    def setting(self, path: str) -> Any:
        """A repository setting such as `/pages`; "" is the repository itself; None if missing."""
        return self._ask("GET", path, missing=True)

    def settings(self, path: str) -> list[Any]:
        """A list of settings, such as `/rulesets`."""
        return list(self._all(path))

    def change_setting(self, method: str, path: str, body: dict[str, Any]) -> None:
        """Create (POST), replace (PUT) or change (PATCH) a setting."""
        self._ask(method, path, body)

    # How it is sent

    def request_limits(self) -> dict[str, RequestLimit]:
        """The hour's limits as they stand: `core` of requests, `graphql` of points; none where the server has none.

        Asking costs nothing.
        """
        answer = self._ask("GET", "/rate_limit", missing=True)
        return {
            name: RequestLimit(most=int(limit["limit"]), used=int(limit["used"]), ends_at=float(limit["reset"]))
            for name, limit in (answer["resources"] if answer else {}).items()
            if name in ("core", "graphql")
        }

    def wait(self, seconds: float) -> None:
        """Do nothing for some seconds."""
        self._sleep(seconds)

    def query(self, text: str, variables: dict[str, Any]) -> dict[str, Any]:
        """The answer to a GraphQL query, errors included.

        Raises:
            CommandError: GitHub refused or could not be reached, or the two API addresses are on different servers.
        """
        if urlsplit(self._graphql_url).netloc != urlsplit(self._api_url).netloc:  # The token is for one server alone.
            raise CommandError(
                OUR_FAULT, f"GITHUB_GRAPHQL_URL ({self._graphql_url}) is on another server than GITHUB_API_URL"
            )
        answer = self._send("POST", self._graphql_url, {}, {"query": text, "variables": variables})[1]
        return answer if isinstance(answer, dict) else {}

    def query_repository(self, fields: str, variables: dict[str, Any], declared: str = "", rest: str = "") -> dict[str, Any]:
        """The fields of the repository that a GraphQL query asks for; None for what is not there.

        Args:
            fields: what is asked of the repository.
            variables: values of the query's variables.
            declared: their names and types, such as `, $first: Int!`.
            rest: fragments.

        Raises:
            CommandError: GitHub refused, could not be reached, or answered in part only.
        """
        owner, _, name = self._repository.partition("/")
        text = (
            f"query($owner: String!, $name: String!{declared}) {{ repository(owner: $owner, name: $name) {{ {fields} }} }}"
        )
        answer = self.query(f"{text}\n{rest}", {"owner": owner, "name": name, **variables})
        repository = (answer.get("data") or {}).get("repository")
        if not all(map(_hides_one_pull, answer.get("errors") or ())) or not isinstance(repository, dict):
            raise _given_up("GitHub did not answer a query", answer)
        return repository

    def raise_unless_alone(self, error: GitHubError) -> None:
        """Raise the error of a request about one thing alone, unless GitHub gave it up and answers others.

        Then it keeps nobody waiting.

        Raises:
            CommandError: GitHub refused it, or answers nothing.
        """
        if 0 < error.status < SERVER_FAILURE:
            raise error
        try:
            self.query_repository("id", {})
        except CommandError:
            raise error from None

    def mutate(self, changes: Sequence[GraphQLChange]) -> dict[int, str]:
        """Make several changes in order; returns why some were not made, by their position.

        All are made in one request if GitHub does so much in one. From which size on it gives up is not documented, and
        strangers choose how long some texts are: what it gave up is asked for again in halves.

        It takes as long as one request for each of them would, since GitHub limits what is written in a minute, too.

        Raises:
            CommandError: GitHub refused all of them, or could not be reached.
        """
        try:
            refused, undone = self._mutate_together(changes)
        except GitHubError as error:
            if error.status < SERVER_FAILURE:
                raise
            if len(changes) == 1:
                self.raise_unless_alone(error)
                return {0: str(error)}
            refused, undone = {}, list(range(len(changes)))
        half = len(undone) // 2 if len(undone) == len(changes) else len(undone)
        for part in filter(None, (undone[:half], undone[half:])):
            refused |= {part[place]: why for place, why in self.mutate([changes[position] for position in part]).items()}
        return refused

    def _mutate_together(self, changes: Sequence[GraphQLChange]) -> tuple[dict[int, str], list[int]]:
        """Make changes in one request; returns why some were refused, and which were left undone, by their position."""
        # GitHub names the type of a mutation's input after the mutation.
        types = (f"{change.name[0].upper()}{change.name[1:]}Input" for change in changes)
        declared = ", ".join(f"$v{i}: {name}!" for i, name in enumerate(types))
        fields = " ".join(f"c{i}: {change.name}(input: $v{i}) {{ clientMutationId }}" for i, change in enumerate(changes))
        answer = self.query(
            f"mutation({declared}) {{ {fields} }}", {f"v{i}": change.input for i, change in enumerate(changes)}
        )
        done, errors = answer.get("data"), answer.get("errors") or []
        if not isinstance(done, dict):
            raise _given_up("GitHub made no change", answer)
        if (pause := self._pace * (len(changes) - 1)) > 0:
            self._sleep(pause)
        refused = {}
        for error in errors:
            place = str((error.get("path") or [""])[0])
            if place[1:].isdigit():
                refused[int(place[1:])] = " ".join(str(error.get("message")).split())[:200]
        undone = [place for place in range(len(changes)) if done.get(f"c{place}") is None and place not in refused]
        if len(changes) == 1 and undone:
            return {0: _first_error(answer)}, []
        return refused, undone

    def _ask(self, method: str, path: str, body: Any = None, *, missing: bool = False) -> Any:
        """The answer to one request; None for 404 if `missing` allows it."""
        try:
            return self._send(method, self._url(path), {}, body)[1]
        except GitHubError as error:
            if missing and error.status == 404:
                return None
            raise

    def _url(self, path: str) -> str:
        return path if path.startswith(OUTSIDE_REPOSITORY) else self._base + path

    def _all(self, path: str, *, at_most: int = PAGE_ENTRIES * PAGES_READ, **parameters: str | None) -> Iterator[Any]:
        """Every entry of a list, following the links between pages."""
        url: str | None = self._url(path)
        query: dict[str, Any] = {name: value for name, value in parameters.items() if value} | {
            "per_page": min(PAGE_ENTRIES, at_most)
        }
        count = 0
        while url is not None and count < at_most:
            headers, answer = self._send("GET", url, query)
            entries = answer if isinstance(answer, list) else next(v for v in answer.values() if isinstance(v, list))
            yield from entries[: at_most - count]
            count += len(entries)
            links = parse_header_links(headers.get("link", ""))
            url, query = next((link["url"] for link in links if link.get("rel") == "next"), None), {}

    def _send(self, method: str, url: str, parameters: dict[str, Any], body: Any = None) -> tuple[dict[str, Any], Any]:
        for tries_left in reversed(range(REQUEST_TRIES)):
            try:
                headers, answer = self._requester.requestJsonAndCheck(method, url, parameters=parameters, input=body)
            except GithubException as error:
                raise GitHubError(
                    error.status, f"GitHub answered {error.status} to {method} {url}: {_error_message(error)}"
                ) from error
            except requests.exceptions.ChunkedEncodingError as error:  # urllib3 does not retry within a body.
                if not tries_left:
                    raise GitHubError(0, f"GitHub's answer to {method} {url} was cut off {REQUEST_TRIES} times") from error
                self._sleep(1.0)
            except requests.RequestException as error:
                raise GitHubError(
                    0, f"GitHub did not answer {method} {url}: {type(error).__name__}; try again later"
                ) from error
            else:
                if (remaining := str(headers.get("x-ratelimit-remaining", ""))).isdigit():
                    self._left[str(headers.get("x-ratelimit-resource", "core"))] = int(remaining)
                return headers, answer
        raise AssertionError  # never reached: the last try returns or raises


def _hides_one_pull(error: dict[str, Any]) -> bool:
    """Whether an error is of one pull request alone, so that the others are answered.

    GitHub hides some, such as an abuser's, or says nothing of a fork that is gone or whose organisation refuses our token.
    """
    path = error.get("path") or ()
    is_gone = error.get("type") == "NOT_FOUND" and len(path) == 2
    return is_gone or (error.get("type") in ("NOT_FOUND", "FORBIDDEN") and "headRepository" in path)


def _given_up(words: str, answer: dict[str, Any]) -> GitHubError:
    """The error of an answer that is not complete: a smaller request may be answered, unless the hour's are used up."""
    is_used_up = any(error.get("type") == "RATE_LIMITED" for error in answer.get("errors") or ())
    return GitHubError(0 if is_used_up else SERVER_FAILURE, f"{words}: {_first_error(answer)}")


def _first_error(answer: dict[str, Any]) -> str:
    errors = answer.get("errors") or [{}]
    return " ".join(str(errors[0].get("message") or "it gave no reason").split())[:200]


def _error_message(error: GithubException) -> str:
    data = error.data if isinstance(error.data, dict) else {}
    return " ".join(str(data.get("message") or "no reason given").split())[:200]
