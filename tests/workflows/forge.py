"""GitHub on one machine: pushes and pull requests become events, events start our workflows, workflows meet the stand-in."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.github.server import GitHubStandIn
from tests.github.world import BOT, NAME, OWNER, REPOSITORY_ID, PullRequest, WorkflowRun, World
from tests.workflows.actions import Actions
from tests.workflows.engine import Expressions
from tests.workflows.files import read
from tests.workflows.remote import Remote
from tests.workflows.runner import Run, Runner

FOLDER = ".github/workflows"
LEVELS = ("none", "read", "write")
# What GitHub's documentation asks a token for; one of the permissions is enough.
NEEDED = (
    ("POST", r"/issues/comments/\d+/reactions$", "issues:write pull-requests:write"),
    ("POST", r"/issues/\d+/(comments|labels)$", "issues:write pull-requests:write"),
    ("PATCH", r"/issues/comments/\d+$", "issues:write pull-requests:write"),
    ("DELETE", r"/issues/(comments/\d+|\d+/labels/.+)$", "issues:write pull-requests:write"),
    ("POST", r"/labels$", "issues:write pull-requests:write"),
    ("POST", r"/issues$", "issues:write"),
    ("PATCH", r"/issues/\d+$", "issues:write"),
    ("POST", r"/statuses/", "statuses:write"),
    ("POST", r"/graphql$", "pull-requests:read"),
    ("POST", r"/actions/", "actions:write"),
    ("GET", r"/actions/", "actions:read"),
    ("GET", r"/commits/[^/]+/statuses$", "statuses:read"),
    ("GET", r"/commits/[^/]+/pulls$", "pull-requests:read"),
    ("GET", r"/commits/[^/]+$", "contents:read"),
    ("GET", r"/pulls", "pull-requests:read"),
    ("GET", r"/issues/\d+/(comments|labels)$", "issues:read pull-requests:read"),
    ("GET", r"/issues$", "issues:read"),
    ("GET", r"/labels$", "issues:read pull-requests:read"),
    ("GET", r"/collaborators/[^/]+/permission$", "contents:read"),
)
# The same of what stands in a query.
NEEDED_OF_QUERIES = (
    ("mutation", "issues:write pull-requests:write"),
    (" status ", "statuses:read"),
    (" comments(", "issues:read pull-requests:read"),
)


def _is_held(held: dict[str, str], needs: str | None) -> bool:
    """Whether a token has one of the permissions that are enough."""
    pairs = (one.split(":") for one in (needs or "").split())
    return any(LEVELS.index(held.get(scope, "none")) >= LEVELS.index(level) for scope, level in pairs)


class Forge:
    """One board's repository, alive."""

    def __init__(
        self, place: Path, files: Path, expressions: Expressions, environment: dict[str, str] | None = None
    ) -> None:
        """Begin with `files` on main."""
        self.place = place
        self.expressions = expressions
        self.world = World()
        self.stand_in = GitHubStandIn(self.world)
        self.stand_in.start()
        self.remote = Remote(place)
        self.remote.start(files)
        self.actions = Actions(self.remote, self.world, place)
        self.permissions: dict[str, dict[str, str]] = {}
        self.runs: list[tuple[str, Run]] = []
        self._started: dict[int, tuple[str, str, dict[str, Any], str, str]] = {}
        self.on_hold = False
        self.runner = Runner(
            expressions=expressions, root=place, actions=self.actions.table(), source=self.remote.show,
            environment=environment or {}, grant=self._grant,
        )  # fmt: skip

    def close(self) -> None:
        """Stop the server."""
        self.stand_in.stop()

    def _grant(self, token: str, permissions: dict[str, str]) -> None:
        self.permissions[token] = permissions
        self.world.tokens[token] = BOT

    # What people do

    def open(self, author: str, changes: dict[str, str | None]) -> int:
        """A stranger opens a pull request from his fork."""
        number = self.world.fresh()
        self.world.people.get(author) or self.world.person(author, 5000 + number)
        sha = self.remote.propose(number, author, changes)
        pull = PullRequest(number=number, author=author, head_sha=sha, branch=f"agent-{number}", fork_owner=author)
        self.world.pulls[number] = pull
        self._pull_event(pull, "opened")
        return number

    def push(self, number: int, changes: dict[str, str | None]) -> str:
        """He pushes to it."""
        pull = self.world.pulls[number]
        pull.head_sha = self.remote.propose(number, pull.author, changes)
        self._pull_event(pull, "synchronize")
        return pull.head_sha

    def merge(self, number: int) -> str:
        """A maintainer merges it."""
        pull = self.world.pulls[number]
        before = self.remote.tip()
        sha = self.remote.merge(number)
        pull.state, pull.merged, pull.merge_commit_sha = "closed", True, sha
        self.world.commits[sha] = [number]
        self.pushed(before, sha)
        return sha

    def enqueue(self, number: int) -> str:
        """A maintainer lets it enter the merge queue; of what that starts, ci is left out, for it runs these tests."""
        base = self.remote.tip()
        sha, ref = self.remote.enqueue(number)
        event = copy.deepcopy(self.expressions.payloads("merge_group")[0])
        event["merge_group"] |= {"head_sha": sha, "head_ref": ref, "base_sha": base, "base_ref": "refs/heads/main"}
        self.start(f"{FOLDER}/queue.yml", "merge_group", event, sha, ref)
        return sha

    def maintain(self, changes: dict[str, str | None], message: str) -> str:
        """A maintainer changes main."""
        before = self.remote.tip()
        sha = self.remote.change_main(changes, message)
        self.pushed(before, sha)
        return sha

    def say(self, number: int, author: str, body: str) -> None:
        """Somebody comments."""
        written = self.world.comment(number, author, body)
        examples = self.expressions.payloads("issue_comment")
        event = copy.deepcopy(next(one for one in examples if one["action"] == "created"))
        person = self.world.people[author]
        event["comment"] |= {"id": written.id, "node_id": f"IC_{written.id}", "body": body}
        event["comment"]["user"] |= {"login": author, "id": person.id, "type": person.type}
        event["issue"] |= {"number": number, "pull_request": {"url": f"{self.stand_in.address}/pulls/{number}"}}
        self.deliver("issue_comment", event)

    def tick(self) -> None:
        """An hour passes: each hourly schedule on main strikes."""
        sha = self.remote.tip()
        crons = {one["cron"] for path in self._workflows(sha) for one in self._triggers(sha, path).get("schedule") or []}
        for cron in sorted(crons):
            if cron.endswith(" * * * *"):
                self.deliver("schedule", {"schedule": cron})

    def approve(self, number: int) -> None:
        """A maintainer lets the waiting run begin."""
        pull = self.world.pulls[number]
        waiting = [
            run for run in self.world.runs.values() if run.conclusion == "action_required" and run.head_sha == pull.head_sha
        ]
        for run in waiting:
            self.start(*self._started[run.id], again=run)
        self._follow()

    # What GitHub makes of it

    def pushed(self, before: str, sha: str) -> None:
        """The event of a push to main."""
        event = copy.deepcopy(self.expressions.payloads("push")[0])
        self.deliver(
            "push", event | {"ref": "refs/heads/main", "before": before, "after": sha}, self.remote.changed(before, sha)
        )

    def _pull_event(self, pull: PullRequest, action: str) -> None:
        event = copy.deepcopy(self.expressions.payloads("pull_request")[0])
        event |= {"action": action, "number": pull.number}
        pull_json = event["pull_request"]
        pull_json |= {"number": pull.number, "title": pull.title, "state": "open"}
        pull_json["user"] |= {"login": pull.author, "id": self.world.people[pull.author].id}
        pull_json["head"] |= {"sha": pull.head_sha, "ref": pull.branch, "label": f"{pull.author}:{pull.branch}"}
        owner = pull.fork_owner or pull.author
        pull_json["head"]["repo"] |= {
            "id": pull.fork_id,
            "full_name": f"{owner}/{NAME}",
            "fork": pull.fork_id != REPOSITORY_ID,
        }
        pull_json["head"]["repo"]["owner"] |= {"login": owner}
        pull_json["base"] |= {"sha": self.remote.tip(), "ref": "main"}
        pull_json["base"]["repo"] |= {"id": REPOSITORY_ID, "full_name": f"{OWNER}/{NAME}"}
        changed = self.remote.changed(self.remote.tip(), pull.head_sha)
        self.deliver("pull_request", event, changed, f"refs/pull/{pull.number}/merge")

    def deliver(
        self, name: str, event: dict[str, Any], changed: list[str] | None = None, ref: str = "refs/heads/main"
    ) -> None:
        """Start every workflow that an event triggers, and what follows from that."""
        sha = self.remote.tip(ref)
        event["repository"] = {**event.get("repository", {}), "id": REPOSITORY_ID, "full_name": f"{OWNER}/{NAME}"}
        for path in self._workflows(sha):
            filters = self._triggers(sha, path)
            if name in filters and triggered(filters[name] or {}, name, event, ref, changed or []):
                self.start(path, name, event, sha, ref)
        self._follow()

    def _workflows(self, sha: str) -> list[str]:
        return [path for path in self.remote.paths_of(sha, FOLDER) if path.endswith((".yml", ".yaml"))]

    def _triggers(self, sha: str, path: str) -> dict[str, Any]:
        place = self.place / "triggers.yml"
        place.write_text(self.remote.show(sha, path), encoding="utf-8")
        on = read(place)["on"]
        return {on: None} if isinstance(on, str) else dict.fromkeys(on) if isinstance(on, list) else on

    def start(
        self, path: str, name: str, event: dict[str, Any], sha: str, ref: str, again: WorkflowRun | None = None
    ) -> Run:
        """One run of one workflow."""
        noted = again or self._noted(path, name, event, sha)
        github = {
            "event_name": name, "event": event, "sha": sha, "ref": ref, "workflow_sha": sha, "run_id": noted.id,
            "run_attempt": noted.attempt, "repository": f"{OWNER}/{NAME}", "repository_id": str(REPOSITORY_ID),
            "ref_name": ref.split("/", 2)[2], "api_url": self.stand_in.address, "server_url": "https://github.com",
        }  # fmt: skip
        self._started[noted.id] = (path, name, event, sha, ref)
        if self.on_hold and name == "pull_request":
            noted.status, noted.conclusion = "completed", "action_required"
            return Run()
        noted.status, noted.conclusion = "in_progress", None
        self._workflow_run(noted, "in_progress", sha, path)
        run = self.runner.run(path, github)
        noted.status, noted.conclusion = "completed", run.conclusion
        self.runs.append((Path(path).stem, run))
        self._workflow_run(noted, "completed", sha, path)
        return run

    def _noted(self, path: str, name: str, event: dict[str, Any], sha: str) -> WorkflowRun:
        head = event.get("pull_request", {}).get("head")
        run = WorkflowRun(
            id=self.world.fresh(), event=name, path=path, head_sha=head["sha"] if head else sha,
            head_branch=head["ref"] if head else "main", fork_id=head["repo"]["id"] if head else REPOSITORY_ID,
            fork_owner=head["repo"]["owner"]["login"] if head else OWNER, conclusion=None, status="queued",
        )  # fmt: skip
        self.world.runs[run.id] = run
        return run

    def _workflow_run(self, noted: WorkflowRun, action: str, sha: str, path: str) -> None:
        if noted.event == "workflow_run":
            return
        event = copy.deepcopy(self.expressions.payloads("workflow_run")[0])
        place = self.place / "started.yml"
        place.write_text(self.remote.show(sha, path), encoding="utf-8")
        run = event["workflow_run"]
        run |= {
            "id": noted.id, "name": read(place)["name"], "event": noted.event, "path": noted.path, "pull_requests": [],
            "head_sha": noted.head_sha, "head_branch": noted.head_branch, "status": noted.status,
            "conclusion": noted.conclusion, "run_attempt": noted.attempt,
        }  # fmt: skip
        run["repository"] |= {"id": REPOSITORY_ID, "full_name": f"{OWNER}/{NAME}"}
        run["head_repository"] |= {"id": noted.fork_id, "full_name": f"{noted.fork_owner}/{NAME}"}
        self.deliver("workflow_run", event | {"action": action})

    def _follow(self) -> None:
        """Runs that our bot asked for."""
        while self.world.reruns:
            number = self.world.reruns.pop(0)
            path, name, event, sha, ref = self._started[number]
            self.start(path, name, event, sha, ref, self.world.runs[number])
        while self.world.dispatched:
            asked = self.world.dispatched.pop(0)
            event = {"inputs": asked.get("inputs") or {}}
            self.start(f"{FOLDER}/{asked['workflow']}", "workflow_dispatch", event, self.remote.tip(), "refs/heads/main")

    # What one looks at afterwards

    def comments(self, number: int) -> list[str]:
        """The bot's comments on a pull request."""
        return [one.body for one in self.world.comments.values() if one.number == number and one.author == BOT]

    def last(self, workflow: str) -> Run:
        """The latest run of a workflow."""
        return next(run for name, run in reversed(self.runs) if name == workflow)

    def page(self, path: str) -> str:
        """A page of the deployed site."""
        return (self.actions.deployed[-1] / path).read_text(encoding="utf-8")

    def overreaches(self) -> list[str]:
        """Calls that a job made without having been permitted to."""
        asked = [(path, header) for path, header in self.stand_in.authorizations if not path.startswith("/storage/")]
        overreaching = []
        for call, (path, header) in zip(self.stand_in.calls, asked, strict=True):
            assert call.path == path
            token = (header or "").rpartition(" ")[2]
            needed = next((needs for verb, pattern, needs in NEEDED if verb == call.verb and re.search(pattern, path)), None)
            held = self.permissions.get(token, {})
            text = call.body["query"] if path.endswith("/graphql") else ""
            every = [needed, *(needs for word, needs in NEEDED_OF_QUERIES if word in text)]
            if path == "/rate_limit":
                continue  # asks for no permission
            if not all(_is_held(held, needs) for needs in every):
                overreaching.append(f"{call.verb} {path} with {held}")
        return overreaching

    def before_step(self, deed: Callable[[str, str, dict[str, Any], str], None]) -> None:
        """Let something happen right before steps; raise LostError to lose the machine."""
        self.runner.before_step = deed


def triggered(filters: Any, name: str, event: dict[str, Any], ref: str, changed: list[str]) -> bool:
    """Whether a trigger's filters let an event through."""
    if name == "schedule":
        return {"cron": event["schedule"]} in filters
    defaults = {"pull_request": ["opened", "synchronize", "reopened"]}
    types = filters.get("types", defaults.get(name))
    if ref.startswith("refs/tags/"):
        # A filter for branches alone lets no tag through, nor one for tags a branch.
        tags = filters.get("tags", [] if "branches" in filters else ["**"])
        return name == "push" and matches(ref.removeprefix("refs/tags/"), tags)
    if name == "push" and "tags" in filters and "branches" not in filters:
        return False
    branch = event["pull_request"]["base"]["ref"] if name == "pull_request" else ref.removeprefix("refs/heads/")
    paths, ignored = filters.get("paths"), filters.get("paths-ignore")
    wanted = event["workflow_run"]["name"] if name == "workflow_run" else None
    return (
        (types is None or event.get("action") in types)
        and branch in filters.get("branches", [branch])
        and (paths is None or any(matches(path, paths) for path in changed))
        and (ignored is None or not all(matches(path, ignored) for path in changed))
        and (wanted is None or wanted in filters["workflows"])
    )


def matches(path: str, patterns: list[str]) -> bool:
    """GitHub's path filters: `**` for anything, `*` for anything without a slash."""
    parts = {"**": ".*", "*": "[^/]*"}
    made = ["".join(parts.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*)", one)) for one in patterns]
    return any(re.fullmatch(one, path) for one in made)
