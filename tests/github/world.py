"""What the stand-in remembers: one repository with its pull requests, runs, comments and settings, all of it changeable."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

OWNER, NAME = "host", "board"
REPOSITORY_ID = 1000
SHA = "a" * 40
BOT = "github-actions[bot]"
HOUR = 1000
"""Requests, and points of GraphQL, that all jobs of a repository have in an hour."""


@dataclass
class Person:
    """An account."""

    login: str
    id: int
    type: str = "User"


@dataclass
class PullRequest:
    """A pull request."""

    number: int
    author: str
    head_sha: str
    branch: str = "patch"
    fork_id: int | None = 2000
    fork_owner: str = ""
    base_ref: str = "main"
    state: str = "open"
    merged: bool = False
    mergeable: bool | None = True
    merge_commit_sha: str | None = None
    title: str = "My agent"
    updated: int = 0
    """Counts what changes any pull request, so that they can be listed by it."""
    created_at: str = "2026-01-02T03:04:05Z"
    opened_at: float = 0.0
    """Seconds on a simulated clock."""
    listed_last: str | None = None
    """The commit that GitHub lists last, if it is another than the newest."""
    forbidden: bool = False
    """Whether its fork lies in an organisation that lets our token see nothing of it, such as by a list of addresses."""


@dataclass
class WorkflowRun:
    """A run of a workflow."""

    id: int
    head_sha: str
    event: str = "pull_request"
    path: str = ".github/workflows/preview.yml"
    head_branch: str = "patch"
    fork_id: int | None = 2000
    fork_owner: str = "alice"
    status: str = "completed"
    conclusion: str | None = "success"
    attempt: int = 1
    created_at: str = "2026-01-02T03:04:05Z"
    artifacts: dict[str, bytes] = field(default_factory=dict)
    expired: set[str] = field(default_factory=set)


@dataclass
class Written:
    """A comment."""

    id: int
    number: int
    author: str
    body: str
    reactions: list[str] = field(default_factory=list)


@dataclass
class Opened:
    """An issue."""

    number: int
    author: str
    title: str
    body: str
    labels: list[str]
    state: str = "open"


@dataclass
class Fault:
    """Something that goes wrong: an answer instead of the right one, a dropped connection, or a cut answer."""

    verb: str
    path: str
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    message: str = ""
    cut: bool = False
    after: bool = False
    """Whether the deed is done before the answer is lost."""
    times: int = 1


class GitSide(Protocol):
    """What of git the API needs."""

    def propose(self, number: int, owner: str, branch: str) -> str | None:
        """The head of a new pull request from a branch; None where there is no such branch."""

    def merge(self, number: int, method: str) -> str:
        """The commit on main that merges a pull request."""


@dataclass
class World:
    """Everything."""

    people: dict[str, Person] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    permissions: dict[str, str] = field(default_factory=dict)
    pulls: dict[int, PullRequest] = field(default_factory=dict)
    runs: dict[int, WorkflowRun] = field(default_factory=dict)
    comments: dict[int, Written] = field(default_factory=dict)
    issues: dict[int, Opened] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    labelled: dict[int, list[str]] = field(default_factory=dict)
    statuses: list[dict[str, str]] = field(default_factory=list)
    commits: dict[str, list[int]] = field(default_factory=dict)
    unverified: set[str] = field(default_factory=set)
    signed_by_people: set[str] = field(default_factory=set)
    """Commits with a good signature by somebody's own key."""
    gone: set[str] = field(default_factory=set)
    """Commits that GitHub has not."""
    elsewhere: dict[str, list[PullRequest]] = field(default_factory=dict)
    """Of each commit the pull requests of other repositories that merged it too."""
    left: dict[str, int] = field(default_factory=lambda: {"core": HOUR, "graphql": HOUR})
    """What is left of the hour's limits; `texts`, where it is set, of comments that may be created."""
    hour_left: Callable[[], float] = lambda: 3600.0
    """Seconds until the limits begin anew."""
    members: dict[str, set[str]] = field(default_factory=dict)
    """Of each organisation its public members, without capitals."""
    teams: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of `organisation/team` each login, without capitals, with the state of its membership."""
    dispatched: list[dict[str, Any]] = field(default_factory=list)
    reruns: list[int] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    hooks: list[tuple[str, str, Callable[[], None]]] = field(default_factory=list)
    git: GitSide | None = None
    """The repository's branches, where pull requests are opened and merged by the API."""
    others: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of `owner/name` what GitHub says of other repositories, forks of ours among them."""
    clock: int = 0
    touched: int = 0
    next_id: int = 100
    _by_sha: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    """The statuses of each commit, as far as `_sorted` of them are sorted in."""
    _sorted: int = 0

    def __post_init__(self) -> None:
        self.person(BOT, 41898282, "Bot")
        self.person(OWNER, 1)
        self.tokens["bot-token"] = BOT
        self.permissions[OWNER] = "admin"

    def statuses_of(self, sha: str) -> list[dict[str, str]]:
        """A commit's statuses, oldest first; one query asks for those of a hundred commits."""
        if len(self.statuses) < self._sorted:
            self._by_sha, self._sorted = {}, 0
        for status in self.statuses[self._sorted :]:
            self._by_sha.setdefault(status["sha"], []).append(status)
        self._sorted = len(self.statuses)
        return self._by_sha.get(sha, [])

    def person(self, login: str, number: int, kind: str = "User") -> Person:
        """Add an account."""
        self.people[login] = Person(login, number, kind)
        return self.people[login]

    def fresh(self) -> int:
        """A number that nothing has yet."""
        self.next_id += 1
        return self.next_id

    def now(self) -> str:
        """A second later each time."""
        self.clock += 1
        return f"2026-01-02T03:{self.clock // 60 % 60:02}:{self.clock % 60:02}Z"

    def touch(self, number: int) -> None:
        """A pull request was changed just now."""
        self.touched += 1
        if number in self.pulls:
            self.pulls[number].updated = self.touched

    def comment(self, number: int, author: str, body: str) -> Written:
        """Somebody writes a comment."""
        self.touch(number)
        written = Written(self.fresh(), number, author, body)
        self.comments[written.id] = written
        return written

    def said(self, number: int) -> list[str]:
        """The texts of a pull request's comments."""
        return [one.body for one in self.comments.values() if one.number == number]

    def go_wrong(self, verb: str, path: str, **how: Any) -> None:
        """The next requests that fit go wrong."""
        self.faults.append(Fault(verb, path, **how))

    def when(self, verb: str, path: str, deed: Callable[[], None]) -> None:
        """Do something right after the next request that fits was answered."""
        self.hooks.append((verb, path, deed))

    def fault_for(self, verb: str, path: str) -> Fault | None:
        """What goes wrong with this request, if anything."""
        for fault in self.faults:
            if fault.verb == verb and re.search(fault.path, path) and fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def run_hooks(self, verb: str, path: str) -> None:
        """Do what waits for this request."""
        due = [hook for hook in self.hooks if hook[0] == verb and re.search(hook[1], path)]
        for hook in due:
            self.hooks.remove(hook)
            hook[2]()
