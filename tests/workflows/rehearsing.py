"""What `pullrank rehearse` meets in tests: branches that it really pushes, a site, events that follow from its requests."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scripts.rehearsal.rehearsal import RehearsalRequest, StepClock, StepRunner, rehearse
from tests.github.server import GitHubStandIn
from tests.github.world import NAME, OWNER, REPOSITORY_ID, World
from tests.workflows.remote import Remote, git

TOKEN = "host-token"
SITE = "https://host.github.io/board/"
FORK_OWNER, FORK_ID = "helpers", 2222


class Branches:
    """The git side of the API: pull requests of branches that were pushed here or to a fork, and their merges."""

    def __init__(self, remote: Remote, place: Path) -> None:
        """Nothing is waiting yet."""
        self.remote, self.place = remote, place
        self.waiting: list[tuple[str, int, str, str]] = []
        self.sources: dict[str, Path] = {OWNER: remote.bare}

    def fork(self, owner: str) -> Path:
        """A fork of main as it is now; returns where it lies."""
        place = self.place / f"{owner}.git"
        git(self.place, "clone", "--quiet", "--bare", "--single-branch", "--branch", "main", self.remote.url, str(place))
        self.sources[owner] = place
        return place

    def propose(self, number: int, owner: str, branch: str) -> str | None:
        """The head of a new pull request; its event waits."""
        source = self.sources.get(owner)
        if source is None or not git(source, "for-each-ref", f"refs/heads/{branch}"):
            return None
        head = f"refs/pull/{number}/head"
        git(self.remote.bare, "fetch", "--quiet", str(source), f"refs/heads/{branch}:{head}")
        sha = self.remote.tip(head)
        self._merged(sha, f"Merge {sha}", "merge")
        git(self.remote.desk, "push", "--quiet", "origin", f"HEAD:refs/pull/{number}/merge")
        self.waiting.append(("opened", number, "", sha))
        return sha

    def merge(self, number: int, method: str) -> str:
        """Main's new commit; its event waits."""
        before, head = self.remote.tip(), self.remote.tip(f"refs/pull/{number}/head")
        self._merged(head, f"Merge pull request #{number} from x/y", method)
        git(self.remote.desk, "push", "--quiet", "origin", "HEAD:refs/heads/main")
        sha = git(self.remote.desk, "rev-parse", "HEAD")
        self.waiting.append(("merged", number, before, sha))
        return sha

    def _merged(self, head: str, message: str, method: str) -> None:
        desk = self.remote.desk
        git(desk, "fetch", "--quiet", "origin", "refs/heads/main")
        git(desk, "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD")
        git(desk, "fetch", "--quiet", "origin", head)
        if method == "squash":
            git(desk, "merge", "--quiet", "--squash", head)
            git(desk, "commit", "--quiet", "--message", message)
        else:
            git(desk, "merge", "--quiet", "--no-ff", "--message", message, head)


def settle(world: World, remote: Remote, place: Path) -> Branches:
    """Let a world have the host's token, a deployed site's address, and branches that the API opens and merges."""
    world.tokens[TOKEN] = OWNER
    world.settings["/pages"] = {"build_type": "workflow", "html_url": SITE}
    world.settings["about"] = {"clone_url": remote.url, "html_url": f"https://github.com/{OWNER}/{NAME}"}
    world.git = branches = Branches(remote, place)
    return branches


def with_fork(world: World, branches: Branches, **about: Any) -> None:
    """Let there be a fork that the host's token may write to."""
    path = branches.fork(FORK_OWNER)
    world.others[f"{FORK_OWNER}/{NAME}"] = {
        "id": FORK_ID, "name": NAME, "fork": True, "default_branch": "main", "clone_url": f"file://{path}",
        "permissions": {"admin": False, "push": True, "pull": True},
        "parent": {**_simple(world), "id": REPOSITORY_ID}, "source": {**_simple(world), "id": REPOSITORY_ID}, **about,
    }  # fmt: skip


def _simple(world: World) -> dict[str, Any]:
    from tests.github.contract import example

    repository: dict[str, Any] = example("full-repository")["parent"]
    return repository | {"full_name": f"{OWNER}/{NAME}"}


class KilledError(KeyboardInterrupt):
    """The host pressed Ctrl-C, or his machine went away."""


@dataclass
class Host:
    """Who calls the command; while it waits, the world goes on."""

    stand_in: GitHubStandIn
    pump: Callable[[], None]
    """Does what has become due."""
    fetch: Callable[[str, int], tuple[int, bytes]]
    """The deployed site."""
    answer: bool = True
    """To the question before the merge."""
    asked: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """Every line of every call."""
    kill_after: Callable[[str], bool] = lambda name: False
    """Whether he stops it right after a step."""
    seconds: float = 0.0

    def calls(self, *, fork: str | None = None, gives_up: bool = False, agent: str = "rehearsal", **more: Any) -> int:
        """The exit code of one call; what it raises is raised."""
        clock = StepClock(now=lambda: self.seconds, pause=self._pause, day=lambda: datetime(2026, 5, 1, 12, tzinfo=UTC))
        request = RehearsalRequest(
            agent=agent, fork=fork, task=more.pop("task", None), name=f"{OWNER}/{NAME}", token=more.pop("token", TOKEN),
            api=self.stand_in.address, confirm=self._confirm, fetch=self.fetch, pace=0,
        )  # fmt: skip
        steps = StepRunner(clock=clock, say=self._say, minutes=more.pop("minutes", None))
        return rehearse(request, steps, gives_up=gives_up)

    def _pause(self, seconds: float) -> None:
        self.seconds += seconds
        self.stand_in.world.left["core"] = 1000
        self.pump()

    def _confirm(self, question: str) -> bool:
        self.asked.append(question)
        return self.answer

    def _say(self, line: str) -> None:
        self.lines.append(line)
        name = step(line)
        if name and self.kill_after(name):
            raise KilledError

    def steps(self) -> list[str]:
        """The names of the steps that were told."""
        return [name for line in self.lines if (name := step(line))]


def step(line: str) -> str:
    """A line's step; empty where it is of none."""
    match = re.fullmatch(r"12:00:00  ([a-z ]+) \((\d+) s\): expected .+; seen: .+", line)
    return match[1] if match else ""
