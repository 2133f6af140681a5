"""A board with pull requests: real git remotes, the stand-in for GitHub, and previews as the untrusted run leaves them."""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.host.loading.submission_folder import assemble
from evaluator.host.loading.yaml_loader import parse_challenge
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.config.task import Task
from evaluator.model.records.preview import Preview, PreviewedAgent
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import Entry
from leaderboard.core.store import ResultStore
from scripts.console import CommandError
from scripts.git.git_repository import GitRepository
from scripts.github.api.client import GitHub
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.workflow.event import read_workflow_environment
from scripts.repository.checkout import Checkout
from tests.github.server import GitHubStandIn
from tests.github.world import BOT, NAME, OWNER, REPOSITORY_ID, PullRequest, WorkflowRun, World
from tests.leaderboard import make
from tests.scripts.github.remotes import CHALLENGE, Clone, agent_files, git, make_board, read_ref, write_ref

TASKS: dict[str, Task] = {task.id: task for task in parse_challenge(CHALLENGE).tasks}
POLE, LAKE = TASKS["CartPole-v1"], TASKS["FrozenLake-v1"]
NOW = 500
"""The run that the bot itself is in."""


@dataclass
class Scene:
    """One board."""

    place: Path
    clone: Clone
    standin: GitHubStandIn
    github: GitHub

    @property
    def world(self) -> World:
        return self.standin.world

    @property
    def summary(self) -> str:
        path = self.place / "summary.md"
        return path.read_text() if path.exists() else ""

    def environment(
        self, event: str = "schedule", payload: Mapping[str, Any] | None = None, run_id: int = NOW
    ) -> dict[str, str]:
        """The variables of such a step; its event is written down."""
        (self.place / "event.json").write_text(json.dumps(payload or {}))
        return {
            "GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": str(self.place / "event.json"),
            "GITHUB_RUN_ID": str(run_id), "GITHUB_REPOSITORY": f"{OWNER}/{NAME}",
            "GITHUB_REPOSITORY_ID": str(REPOSITORY_ID), "GITHUB_SHA": self.clone.head,
            "GITHUB_API_URL": self.standin.address, "GITHUB_TOKEN": "bot-token",
            "GITHUB_STEP_SUMMARY": str(self.place / "summary.md"), "GITHUB_WORKSPACE": str(self.clone.path),
            "PULLRANK_PACE": "0",
        }  # fmt: skip

    def context(self, event: str = "schedule", payload: Mapping[str, Any] | None = None, run_id: int = NOW) -> BotContext:
        """What a privileged step has at hand."""
        workflow = read_workflow_environment(self.environment(event, payload, run_id))
        git(self.clone.path, "checkout-index", "-f", "challenge.yml")
        clone = GitRepository(self.clone.path)
        return BotContext(workflow=workflow, github=self.github, checkout=Checkout(self.clone.path), clone=clone)

    def push(self, files: Mapping[str, bytes | None], number: int = 7, author: str = "alice") -> str:
        """Somebody pushes a commit on main's tip to his fork; his pull request then stands there."""
        fork, origin = Clone(self.place / f"fork-{number}"), self.place / "origin.git"
        if not fork.path.exists():
            # Like forks on GitHub, it shares its objects with the repository.
            (fork.path / ".git" / "refs").mkdir(parents=True)
            (fork.path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
            (fork.path / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {origin}\n')
            (fork.path / ".git" / "objects").symlink_to(origin / "objects")
        main = read_ref(origin, "refs/heads/main")
        fork.switch(main)
        sha = fork.commit(files, f"agent of {author}", (main,))
        write_ref(origin, f"refs/pull/{number}/head", sha)
        branch, fork_id = f"branch-{number}", 2000 + number
        pull = PullRequest(number, author, sha, branch=branch, fork_id=fork_id)
        self.world.pulls[number] = pull
        return sha

    def bring(self, number: int = 7, author: str = "alice", agent: str = "a", source: bytes = b"x = 1\n") -> str:
        """A pull request with one agent."""
        return self.push(agent_files(author, agent, source), number, author)

    def ran(self, run_id: int, number: int = 7, content: bytes | None = None, **fields: Any) -> WorkflowRun:
        """A preview run on a pull request's commit as it is now."""
        pull = self.world.pulls[number]
        own = {"head_branch": pull.branch, "fork_id": pull.fork_id, "fork_owner": pull.author}
        run = WorkflowRun(run_id, pull.head_sha, **{**own, **fields})
        if content is not None:
            run.artifacts["preview"] = content
        self.world.runs[run_id] = run
        return run

    def merge(self, number: int = 7) -> str:
        """A maintainer merges."""
        pull = self.world.pulls[number]
        git(self.clone.path, "fetch", "-q", "origin", pull.head_sha)
        git(self.clone.path, "read-tree", pull.head_sha)
        parents = (self.clone.head, pull.head_sha)
        sha = self.clone.commit({}, f"Merge #{number}", parents)
        self.clone.push()
        pull.state, pull.merged, pull.merge_commit_sha = "closed", True, sha
        return sha

    def entry(self, commit: str, login: str = "alice", agent: str = "a") -> Entry:
        """An agent as a commit of any clone has it."""
        for clone in [self.clone, *(Clone(path) for path in sorted(self.place.glob("fork-*")))]:
            try:
                folder = assemble(
                    GitRepository(clone.path).blobs(commit, f"submissions/{login}/{agent}"), SubmissionLimits()
                )
            except CommandError:
                continue
            return Entry(login=login, agent=agent, submission=folder.submission, digest=folder.digest)
        raise AssertionError(commit)

    def record(self, *results: Result) -> None:
        """Put results where the checkout of the results branch lies."""
        store = ResultStore(results=self.clone.path / "results", traces=self.clone.path / "traces")
        for index, result in enumerate(results):
            path = store.write(result, None)
            if result.verdict is Verdict.INTERNAL_ERROR:
                path.rename(path.with_name(f"{path.stem}.try{index + 1}.json"))

    def bodies(self, number: int = 7) -> list[str]:
        """The bot's comments."""
        return [one.body for one in self.world.comments.values() if one.number == number and one.author == BOT]

    def statuses(self, sha: str) -> list[tuple[str, str]]:
        """State and words of what was said on a commit."""
        return [(one["state"], one["description"]) for one in self.world.statuses if one["sha"] == sha]


def build(place: Path, standin: GitHubStandIn, github: GitHub) -> Scene:
    """A board with one agent of Bob's on main."""
    return Scene(place, make_board(place, agent_files("bob")), standin, github)


def previewed(scene: Scene, sha: str, returns: tuple[float, ...] = (9.0, 10.0, 11.0), **fields: Any) -> bytes:
    """The artifact of a preview of alice/a on CartPole."""
    entry = scene.entry(sha)
    result = make.result(entry, returns, on=POLE, **{"class": "preview", "beacon": "preview", **fields})
    agent = PreviewedAgent(login="alice", agent="a", submission_digest=entry.digest, name="Test", results=(result,))
    return zipped(Preview(schema=1, head_sha=sha, evaluator_sha="e" * 40, agents=(agent,)))


def zipped(preview: Preview, log: bytes | None = None) -> bytes:
    """The zip as GitHub stores it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("preview.json", json.dumps(preview.document()))
        if log is not None:
            archive.writestr("preview.log", log)
    return file.getvalue()


def completed(run_id: int) -> dict[str, Any]:
    """The payload of a `workflow_run` event, with everything in it that a stranger chooses set to mislead."""
    return {
        "action": "completed",
        "workflow_run": {
            "id": run_id, "name": "preview", "display_title": "$(touch /tmp/x)", "head_branch": "main",
            "pull_requests": [{"number": 1}],
        },
    }  # fmt: skip


def commented(number: int, comment_id: int, body: str, author: tuple[str, int], **fields: Any) -> dict[str, Any]:
    """The payload of an `issue_comment` event."""
    user = {"login": author[0], "id": author[1], "type": fields.pop("kind", "User")}
    comment = {"id": comment_id, "node_id": f"IC_{comment_id}", "body": body, "user": user, "author_association": "OWNER"}
    return {"action": "created", "comment": comment, "issue": {"number": number, "pull_request": {"url": "x"}}, **fields}
