"""A board whose workflows are played by hand: what `pullrank rehearse` waits for comes, comes otherwise, or never comes."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluator.host.loading.submission_folder import assemble
from evaluator.host.loading.yaml_loader import parse_challenge
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.records.stored_record import Provenance
from leaderboard.core.entry import Entry
from leaderboard.core.store import RECORD_ENDING
from scripts.git.git_repository import GitRepository
from tests.github.server import GitHubStandIn
from tests.github.world import BOT, NAME, OWNER, REPOSITORY_ID, PullRequest, WorkflowRun, World
from tests.leaderboard import make
from tests.workflows.rehearsing import FORK_OWNER, SITE, Branches, Host, settle
from tests.workflows.remote import Remote, git

CHALLENGE = """\
title: T
season: "1"
repository: https://github.com/host/board
tasks:
  - {id: CartPole-v1, episodes: 3}
"""
MODERATION = "# Entries that are kept off the board.\nexclusions: []\nrehearsals: []\n"
PREVIEW, OFFICIAL = ".github/workflows/preview.yml", ".github/workflows/official.yml"
RUNS = f"https://github.com/{OWNER}/{NAME}/actions/runs"
ALL = frozenset({"run", "comment", "status", "official", "record", "site", "told"})


@dataclass
class Played:
    """GitHub with a bot that does exactly what it is let do."""

    place: Path
    remote: Remote
    stand_in: GitHubStandIn
    branches: Branches
    does: set[str] = field(default_factory=lambda: set(ALL))
    """What of the bot's deeds are done."""
    conclusions: dict[str, str | None] = field(default_factory=dict)
    """How runs of `preview` and `official` end where not well; None where they go on."""
    result: dict[str, Any] = field(default_factory=dict)
    """Fields of the record that are otherwise."""
    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The site's documents."""

    @property
    def world(self) -> World:
        return self.stand_in.world

    def host(self) -> Host:
        return Host(self.stand_in, self.pump, self.fetch)

    def fetch(self, address: str, cap: int) -> tuple[int, bytes]:
        assert address.startswith(SITE)
        document = self.agents.get(address.removeprefix(SITE).partition("?")[0])
        return (200, json.dumps(document).encode()) if document else (404, b"<html>")

    def pump(self) -> None:
        """Do what the bot does for each event that waits."""
        while self.branches.waiting:
            kind, number, _, sha = self.branches.waiting.pop(0)
            pull = self.world.pulls[number]
            entries = self.entries(sha, pull)
            if kind == "opened":
                self.previewed(pull)
            elif entries:
                self.recorded(pull, sha, entries[0])
            else:
                self.withdrawn(pull, sha)

    def entries(self, sha: str, pull: PullRequest) -> list[Entry]:
        """The agent of a rehearsal on a commit, if it stands there."""
        repository, outcome = GitRepository(self.remote.bare), []
        for login, agent in repository.folders(sha):
            if login.casefold() == OWNER and pull.branch[:-9] == f"pullrank-rehearsal-{agent}":
                folder = assemble(repository.blobs(sha, f"submissions/{login}/{agent}"), SubmissionLimits())
                outcome.append(Entry(login=login, agent=agent, submission=folder.submission, digest=folder.digest))
        return outcome

    def run(self, pull: PullRequest, workflow: str, sha: str) -> WorkflowRun:
        name = Path(workflow).stem
        conclusion = self.conclusions.get(name, "success")
        own = workflow == PREVIEW
        run = WorkflowRun(
            self.world.fresh(), sha, "pull_request" if own else "push", workflow, pull.branch if own else "main",
            pull.fork_id if own else REPOSITORY_ID, pull.fork_owner if own else OWNER,
            "completed" if conclusion else "in_progress", conclusion,
        )  # fmt: skip
        self.world.runs[run.id] = run
        return run

    def previewed(self, pull: PullRequest) -> None:
        if not self.entries(pull.head_sha, pull):
            return
        run = self.run(pull, PREVIEW, pull.head_sha) if "run" in self.does else None
        if "comment" in self.does:
            self.comment(pull, "✅ Preview: 22.0 on `CartPole-v1`, would take place 1 of 1", run.id if run else 1)
        if "status" in self.does:
            self.status(pull, BOT)

    def comment(self, pull: PullRequest, headline: str, run: int = 1, author: str = BOT) -> None:
        """The comment says this from now on."""
        body = f"<!-- pullrank:comment run={run} -->\n### {headline}\n"
        own = [one for one in self.world.comments.values() if (one.number, one.author) == (pull.number, author)]
        if own:
            own[0].body = body
        else:
            self.world.comment(pull.number, author, body)

    def status(self, pull: PullRequest, author: str, state: str = "success") -> None:
        message = {"state": state, "context": "pullrank", "description": "preview", "target_url": "https://github.com/x"}
        self.world.statuses.append({**message, "creator": author, "at": self.world.now(), "sha": pull.head_sha})

    def recorded(self, pull: PullRequest, sha: str, entry: Entry) -> None:
        run = self.run(pull, OFFICIAL, sha) if "official" in self.does else None
        task = parse_challenge(CHALLENGE.encode()).tasks[0]
        url = f"{RUNS}/{run.id if run else 1}"
        seen = Provenance(evaluated_at="2026-05-01T12:00:00Z", run_url=url).model_dump()
        result = make.result(entry, (9.0, 10.0, 11.0), on=task, **{"provenance": seen, **self.result})
        if "record" in self.does:
            self.write({result.path() + RECORD_ENDING: result.serialised().decode()})
        path = f"api/agents/{entry.login}/{entry.agent}.json"
        if "site" in self.does:
            ranked = {"task": task.id, "state": "ranked", "place": 1}
            self.agents[path] = {"state": "entered", "digest": entry.digest, "tasks": [ranked]}
        if "told" in self.does:
            self.told(pull, "🥇 Official: 10.0 on `CartPole-v1`, place 1 of 1")

    def told(self, pull: PullRequest, headline: str) -> None:
        self.comment(pull, headline)
        self.world.labelled.setdefault(pull.number, []).append("official")

    def withdrawn(self, pull: PullRequest, sha: str) -> None:
        self.run(pull, OFFICIAL, sha)
        for document in self.agents.values():
            document |= {"state": "withdrawn", "rehearsal": True, "tasks": []}
        self.told(pull, "🪦 Withdrawn 1 agent")

    def write(self, files: dict[str, str]) -> None:
        """A commit on the branch results."""
        place = self.place / "results"
        if not place.exists():
            place.mkdir()
            git(place, "init", "--quiet", "--initial-branch=results")
        for path, text in files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text)
        git(place, "add", "--all")
        git(place, "commit", "--quiet", "--message", "record")
        git(place, "push", "--quiet", self.remote.url, "HEAD:refs/heads/results")

    def rehearsal_branches(self, owner: str = OWNER) -> list[str]:
        """The branches that rehearsals left."""
        listed = git(self.branches.sources[owner], "for-each-ref", "--format=%(refname:short)", "refs/heads/pullrank*")
        return listed.splitlines()

    def pulls(self) -> list[PullRequest]:
        return [pull for pull in self.world.pulls.values() if pull.author == OWNER]


def play(place: Path, stand_in: GitHubStandIn, files: dict[str, str] | None = None) -> Played:
    """A board with these files on main besides its challenge."""
    source = place / "files"
    for path, text in {"challenge.yml": CHALLENGE, "moderation.yml": MODERATION, **(files or {})}.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text)
    remote = Remote(place)
    remote.start(source)
    return Played(place, remote, stand_in, settle(stand_in.world, remote, place))


__all__ = ["FORK_OWNER", "Played", "play"]
