"""One board under load: its repository, the stand-in of GitHub, and our workflows as jobs that call the real bot.

What a workflow is started by, which of its runs exclude each other and which comments are commands is read from the workflow
files by GitHub's own expression engine. A job's work is the `pullrank bot` command of its file, called in this process with
GitHub's own event in the environment. Times are those of site/pages/host/scale.md.
"""

import contextlib
import copy
import functools
import io
import json
import os
import re
import shutil
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import typer

from evaluator.model.config.submission_limits import SubmissionLimits
from leaderboard.core.entry import Entry
from scripts.commands import bot
from scripts.console import CommandError
from scripts.git.data_branches import export_files
from scripts.git.git_repository import GitRepository
from scripts.git.main_entries import read_entries
from scripts.git.pull_request_guard import GuardedPaths, PullAuthor, inspect_pull
from scripts.github.api.client import GitHub
from scripts.github.official import check_shards, evaluate_shard, plan_shards, publish_round
from scripts.github.official.round_work import OfficialRun, RoundWork
from scripts.github.preview import run_preview
from scripts.github.pull_request import judge_preview
from scripts.github.workflow import event as workflow_event
from scripts.repository import checkout as checkouts
from scripts.runs import local_evaluator
from tests.github.server import GitHubStandIn
from tests.github.world import BOT, HOUR, NAME, OWNER, REPOSITORY_ID, PullRequest, WorkflowRun, World
from tests.load.actions_clock import (
    HOUR_SECONDS,
    JobFailedError,
    RunnerPool,
    SimulatedClock,
    SimulatedJob,
    SimulatedRun,
    Stages,
)
from tests.load.cheap_play import BASE, select_thread
from tests.load.gitside import CrowdedRemote
from tests.load.population import Files, PlannedCommand, PlannedPull, Population
from tests.scripts.github.remotes import git
from tests.workflows.engine import Expressions
from tests.workflows.files import FILES, WORKFLOWS, read
from tests.workflows.forge import triggered
from tests.workflows.runner import parse_outputs

CHALLENGE = """\
title: Crowd
season: "2026"
baselines: []
repository: https://github.com/host/board
tasks:
  - id: CartPole-v1
    episodes: 5
    bounds: [1, 500]
    random: {score: 22, source: measured}
    reference: {score: 475, source: measured}
  - id: FrozenLake-v1
    episodes: 5
    bounds: [0, 1]
    random: {score: 0.01, source: measured}
    reference: {score: 0.7, source: measured}
"""
# Seconds from a job's start to its command, so that the two chains of site/pages/host/scale.md take 76 s and 211 s.
SETUP = 30.0
SECONDS = {"preview": 10.0, "report": 5.0}
OTHER_SECONDS = 5.0
# An evaluation in the container takes so long on average, by the same page.
EVALUATION_SECONDS = 3.2
# What the client waits before a request; see `PULLRANK_PACE`.
READ_SECONDS, WRITE_SECONDS = 0.25, 1.0
# GitHub's free plan runs so many jobs at once, and counts requests, and texts that somebody creates, by the hour.
MACHINES, TEXTS = 20, 500
MERGING_EVERY = 1800.0
BEGINNING = datetime(2026, 1, 2)  # noqa: DTZ001  # shown as UTC
_TRIGGERED = ("preview", "report", "commands", "official", "reconcile", "evaluate")


class CrowdedBoard:
    """A board with everything around it."""

    def __init__(self, place: Path, expressions: Expressions, *, checked: int = 1) -> None:
        """A board without agents; of so many requests one is held against GitHub's description."""
        self.place = place
        self.expressions = expressions
        self.clock = SimulatedClock()
        self.pool = RunnerPool(clock=self.clock, machines=MACHINES)
        self.world = World()
        self.stand_in = GitHubStandIn(self.world, checked=checked)
        self.stand_in.start()
        self.remote = CrowdedRemote(place, {"challenge.yml": CHALLENGE, "README.md": "board\n"})
        self.workspace = place / "board"
        git(place, "clone", "-q", f"file://{self.remote.bare}", str(self.workspace))
        self.files = {path.stem: read(path) for path in FILES if path.stem in _TRIGGERED}
        jobs = [pair for file in self.files.values() for pair in file["jobs"].items()]
        self.timeouts = {name: float(job["timeout-minutes"]) for name, job in jobs if "timeout-minutes" in job}
        self.conditions = {name: expressions.conditions(WORKFLOWS / f"{name}.yml") for name in self.files}
        self.payloads = {
            name: expressions.payloads(name) for name in ("pull_request", "workflow_run", "issue_comment", "push")
        }
        self.numbers: dict[int, int] = {}
        """Index of the population to number of the pull request."""
        self.asked: list[tuple[float, str, str]] = []
        """Second, verb and path of every request."""
        self.texts: list[float] = []
        """Second of every comment and issue that the bot created."""
        self.logs: list[str] = []
        self.failures: list[str] = []
        self.commands_given = 0
        self.played: Counter[str] = Counter()
        """How often each result was played for the official board."""
        self.spent: Counter[str] = Counter()
        """Seconds of this machine by the job that they were spent on."""
        self.pushed_kilobytes = 0.0
        self.last_word: dict[int, float] = {}
        self._exported = self._head = ""
        self._board: tuple[tuple[str, str], Any] | None = None
        self._checkouts: dict[tuple[str, str, bool], checkouts.Checkout] = {}
        self._guarded: dict[tuple[str, str, PullAuthor], GuardedPaths] = {}
        self._workload: tuple[tuple[str, str, str], RoundWork] | None = None
        self._hour = 0

    def close(self) -> None:
        """Stop the stand-in."""
        self.stand_in.stop()

    # What people do

    def enter(self, population: Population, end: float) -> None:
        """Everything that happens until the end, put on the clock."""
        for planned in population.pulls:
            self.clock.at(planned.opens, functools.partial(self._open, planned, population))
        opened = {planned.index: planned for planned in population.pulls}
        for command in population.commands:
            at = opened[command.pull].opens + command.after
            self.clock.at(at, functools.partial(self._say, command, opened[command.pull]))
        for number in range(1, int(end // MERGING_EVERY) + 1):
            self.clock.at(number * MERGING_EVERY, self.merge_ready)
        for hour in range(int(end // HOUR_SECONDS) + 1):
            self.clock.at(hour * HOUR_SECONDS, self._new_hour)
            self.clock.at(hour * HOUR_SECONDS + 47 * 60, self._strike)

    def shown_time(self) -> str:
        """The simulated time as GitHub shows it."""
        return f"{BEGINNING + timedelta(seconds=self.clock.now):%Y-%m-%dT%H:%M:%SZ}"

    def _new_hour(self) -> None:
        self.world.left |= {"core": HOUR, "graphql": HOUR, "texts": TEXTS}
        self.world.hour_left = lambda: HOUR_SECONDS - self.clock.now % HOUR_SECONDS

    def _open(self, planned: PlannedPull, population: Population) -> None:
        if planned.needs is not None and not self._is_merged(planned.needs):
            self.clock.after(300, functools.partial(self._open, planned, population))
            return
        person = self.world.people.get(planned.author) or self.world.person(planned.author, 100_000 + planned.index)
        number = self.world.fresh()
        sha = self.remote.propose(number, person.login, planned.files)
        self.numbers[planned.index] = number
        self.world.pulls[number] = PullRequest(
            number, person.login, sha, branch=f"agent-{number}", fork_id=10_000 + number, fork_owner=person.login,
            mergeable=not planned.conflicts, opened_at=self.clock.now, created_at=self.shown_time(),
        )  # fmt: skip
        self.world.touch(number)
        self._pull_event(number, "opened")
        if planned.second is not None:
            self.clock.after(planned.second_after, functools.partial(self._push, number, planned.second))
        if planned.closes_after is not None:
            self.clock.after(planned.closes_after, functools.partial(self._close, number))

    def _is_merged(self, index: int) -> bool:
        return index in self.numbers and self.world.pulls[self.numbers[index]].merged

    def _push(self, number: int, files: Files) -> None:
        pull = self.world.pulls[number]
        if pull.state == "open":
            pull.head_sha = self.remote.propose(number, pull.author, files)
            self.world.touch(number)
            self._pull_event(number, "synchronize")

    def _close(self, number: int) -> None:
        pull = self.world.pulls[number]
        if pull.state == "open":
            pull.state = "closed"

    def _say(self, command: PlannedCommand, planned: PlannedPull) -> None:
        if planned.index not in self.numbers:
            self.clock.after(300, functools.partial(self._say, command, planned))
            return
        number = self.numbers[planned.index]
        person = self.world.people[planned.author] if command.by_author else self.world.person("passer-by", 99)
        written = self.world.comment(number, person.login, command.text.format(sha=self.world.pulls[number].head_sha))
        event = copy.deepcopy(next(one for one in self.payloads["issue_comment"] if one["action"] == "created"))
        event["comment"] |= {"id": written.id, "node_id": f"IC_{written.id}", "body": written.body}
        event["comment"]["user"] |= {"login": person.login, "id": person.id, "type": person.type}
        event["issue"] |= {"number": number, "pull_request": {"url": f"{self.stand_in.address}/pulls/{number}"}}
        self.commands_given += 1
        self._deliver("issue_comment", event)

    def merge_ready(self) -> None:
        """A maintainer merges whatever the bot says may be merged; this is all that a maintainer does."""
        said = self.said_of_commits()
        for pull in list(self.world.pulls.values()):
            if pull.state == "open" and pull.mergeable and said.get(pull.head_sha) == "success":
                self._merge(pull)

    def _merge(self, pull: PullRequest) -> None:
        before = self.remote.main
        files = self._changed_files(pull)
        sha = self.remote.merge(pull.number, files)
        pull.state, pull.merged, pull.merge_commit_sha = "closed", True, sha
        self.world.touch(pull.number)
        self.world.commits[sha] = [pull.number]
        event = copy.deepcopy(self.payloads["push"][0]) | {"ref": "refs/heads/main", "before": before, "after": sha}
        self._deliver("push", event, [name.rpartition(":")[2] for name in files])

    def _changed_files(self, pull: PullRequest) -> Files:
        """What a head changes since it left main, as it stands at the head."""
        base = git(self.remote.bare, "merge-base", self.remote.main, pull.head_sha)
        names = git(self.remote.bare, "diff", "--name-status", "--no-renames", base, pull.head_sha).splitlines()
        changes: Files = {}
        for line in names:
            letter, path = line.split("\t")
            changes[path] = None if letter == "D" else git(self.remote.bare, "show", f"{pull.head_sha}:{path}") + "\n"
        return changes

    def said_of_commits(self) -> dict[str, str]:
        """The state that the bot last gave each commit."""
        return {one["sha"]: one["state"] for one in self.world.statuses if one["creator"] == BOT}

    def entries(self) -> list[Entry]:
        """The agents on main."""
        self.checkout()
        return read_entries(GitRepository(self.workspace), self.remote.main, checkouts.Checkout(self.workspace).challenge)[0]

    def slowest(self) -> float:
        """Seconds from the opening of a pull request to the bot's last word on it, the longest."""
        opened = {pull.number: pull.opened_at for pull in self.world.pulls.values()}
        return max((at - opened[number] for number, at in self.last_word.items()), default=0.0)

    # What GitHub makes of it

    def _pull_event(self, number: int, action: str) -> None:
        pull = self.world.pulls[number]
        if not pull.mergeable:  # GitHub starts nothing on a conflict.
            return
        event = copy.deepcopy(self.payloads["pull_request"][0]) | {"action": action, "number": number}
        document = event["pull_request"]
        document |= {"number": number, "title": pull.title, "state": "open"}
        document["user"] |= {"login": pull.author, "id": self.world.people[pull.author].id}
        document["head"] |= {"sha": pull.head_sha, "ref": pull.branch, "label": f"{pull.author}:{pull.branch}"}
        document["head"]["repo"] |= {"id": pull.fork_id, "full_name": f"{pull.author}/{NAME}", "fork": True}
        document["head"]["repo"]["owner"] |= {"login": pull.author}
        document["base"] |= {"sha": self.remote.main, "ref": "main"}
        document["base"]["repo"] |= {"id": REPOSITORY_ID, "full_name": f"{OWNER}/{NAME}"}
        changed = git(self.remote.bare, "diff", "--name-only", f"{self.remote.main}...{pull.head_sha}").splitlines()
        self._deliver("pull_request", event, changed)

    def _deliver(self, name: str, event: dict[str, Any], changed: list[str] | None = None) -> None:
        event["repository"] = {**event.get("repository", {}), "id": REPOSITORY_ID, "full_name": f"{OWNER}/{NAME}"}
        for workflow, file in self.files.items():
            filters = file["on"]
            if name in filters and triggered(filters[name] or {}, name, event, "refs/heads/main", changed or []):
                self._trigger(workflow, name, event)

    def _strike(self) -> None:
        self._trigger("reconcile", "schedule", {"schedule": "47 * * * *"})

    def _trigger(self, workflow: str, name: str, event: dict[str, Any], again: WorkflowRun | None = None) -> None:
        head = event.get("pull_request", {}).get("head")
        noted = again or WorkflowRun(
            id=self.world.fresh(), event=name, path=f".github/workflows/{workflow}.yml",
            head_sha=head["sha"] if head else self.remote.main, head_branch=head["ref"] if head else "main",
            fork_id=head["repo"]["id"] if head else REPOSITORY_ID,
            fork_owner=head["repo"]["owner"]["login"] if head else OWNER, conclusion=None, status="queued",
            created_at=self.shown_time(),
        )  # fmt: skip
        self.world.runs[noted.id] = noted
        self._started[noted.id] = (workflow, name, event)
        github = {"event_name": name, "event": event, "ref": "refs/heads/main", "workflow": workflow}
        contexts = {"github": github, "inputs": event.get("inputs") or {}}
        concurrency = self.files[workflow]["concurrency"]
        first = next(iter(self.files[workflow]["jobs"]))
        if not self.expressions.holds(self.conditions[workflow][first]["if"], {**contexts, "vars": {}, "needs": {}}):
            noted.status, noted.conclusion = "completed", "skipped"
            return
        variables = self._environment(noted, name, event)
        self.pool.submit(
            SimulatedRun(
                number=noted.id, workflow=workflow, group=str(self.expressions.fill(concurrency["group"], contexts)),
                cancel_in_progress=concurrency.get("cancel-in-progress") is True,
                stages=_STAGES[workflow](self, noted, variables),
                began=functools.partial(self._begun, noted), ended=functools.partial(self._ended, noted),
            )
        )  # fmt: skip

    @functools.cached_property
    def _started(self) -> dict[int, tuple[str, str, dict[str, Any]]]:
        return {}

    def _begun(self, noted: WorkflowRun) -> None:
        noted.status = "in_progress"
        self._workflow_run(noted, "in_progress")

    def _ended(self, noted: WorkflowRun, conclusion: str) -> None:
        noted.status, noted.conclusion = "completed", conclusion
        self._workflow_run(noted, "completed")
        self._follow()

    def _workflow_run(self, noted: WorkflowRun, action: str) -> None:
        if noted.event == "workflow_run":
            return
        event = copy.deepcopy(self.payloads["workflow_run"][0]) | {"action": action}
        run = event["workflow_run"]
        run |= {
            "id": noted.id, "name": Path(noted.path).stem, "event": noted.event, "path": noted.path, "pull_requests": [],
            "head_sha": noted.head_sha, "head_branch": noted.head_branch, "status": noted.status,
            "conclusion": noted.conclusion, "run_attempt": noted.attempt,
        }  # fmt: skip
        run["repository"] |= {"id": REPOSITORY_ID, "full_name": f"{OWNER}/{NAME}"}
        run["head_repository"] |= {"id": noted.fork_id, "full_name": f"{noted.fork_owner}/{NAME}"}
        self._deliver("workflow_run", event)

    def _follow(self) -> None:
        """Runs that the bot asked for."""
        while self.world.reruns:
            run = self.world.runs[self.world.reruns.pop(0)]
            self._trigger(*self._started[run.id], again=run)
        while self.world.dispatched:
            asked = self.world.dispatched.pop(0)
            self._trigger(asked["workflow"].removesuffix(".yml"), "workflow_dispatch", {"inputs": asked.get("inputs") or {}})

    # What a job does

    def _environment(self, noted: WorkflowRun, name: str, event: dict[str, Any]) -> dict[str, str]:
        return {
            "GITHUB_EVENT_NAME": name, "GITHUB_RUN_ID": str(noted.id), "GITHUB_RUN_ATTEMPT": str(noted.attempt),
            "GITHUB_REPOSITORY": f"{OWNER}/{NAME}", "GITHUB_REPOSITORY_ID": str(REPOSITORY_ID),
            "GITHUB_API_URL": self.stand_in.address, "GITHUB_TOKEN": "bot-token", "PULLRANK_PACE": "0",
            "GITHUB_WORKSPACE": str(self.workspace), "BASE_IMAGE": BASE, "event": json.dumps(event),
        }  # fmt: skip

    def checkout(self, sha: str = "") -> str:
        """The workspace at a commit, as actions/checkout leaves it; returns the commit."""
        sha = sha or self.remote.main
        if self._head != sha:
            git(self.workspace, "fetch", "-q", "origin", sha)
            git(self.workspace, "checkout", "-q", "--force", "--detach", sha)
            self._head = sha
        return sha

    def recorded(self) -> None:
        """What `make recorded` leaves."""
        if (tip := self.remote.tip("refs/heads/results")) != self._exported:
            clone = GitRepository(self.workspace)
            shutil.rmtree(self.workspace / "results", ignore_errors=True)
            export_files(clone, tip, self.workspace / "results")
            self._exported = tip

    def call(
        self, variables: dict[str, str], command: Callable[[], object], *, sha: str = ""
    ) -> tuple[dict[str, str], float]:
        """Run a command of the bot in this process: its outputs, and how long its requests take.

        Raises:
            JobFailedError: it ended badly.
        """
        files = {kind: self.place / kind for kind in ("output", "summary", "event.json")}
        for file in files.values():
            file.write_text("")
        files["event.json"].write_text(variables["event"])
        here = {name: value for name, value in variables.items() if name != "event"}
        here |= {
            "GITHUB_SHA": self.checkout(sha), "GITHUB_EVENT_PATH": str(files["event.json"]),
            "GITHUB_OUTPUT": str(files["output"]), "GITHUB_STEP_SUMMARY": str(files["summary"]),
        }  # fmt: skip
        before, slept = len(self.stand_in.calls), list[float]()
        printed = io.StringIO()
        failed = ""
        with self._in_place(here, slept), contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
            try:
                command()
            except CommandError as error:
                failed = str(error)
            except (typer.Exit, SystemExit) as error:
                failed = f"exit {error}"
        seconds = self._count(before) + sum(slept)
        self.logs.append(printed.getvalue())
        self._follow()
        if failed:
            self.failures.append(f"{self.clock.now:.0f} s: {here['GITHUB_EVENT_NAME']}: {failed}")
            raise JobFailedError(seconds)
        return parse_outputs(files["output"].read_text()), seconds

    def _count(self, before: int) -> float:
        """Note the requests since a position as spread by the client's pace; returns what they take."""
        seconds = 0.0
        for call in self.stand_in.calls[before:]:
            if call.path == "/rate_limit":
                continue
            self.asked.append((self.clock.now + seconds, call.verb, call.path))
            if call.verb != "GET" and (match := re.search(r"/issues/(\d+)/", call.path)):
                self.last_word[int(match[1])] = self.clock.now + seconds
            changes = call.body["query"].count("(input: ") if call.path.endswith("/graphql") else int(call.verb != "GET")
            for number in re.findall(r"PR_(\d+)", json.dumps((call.body or {}).get("variables", {}))) if changes else ():
                self.last_word[int(number)] = self.clock.now + seconds
            self.texts += [self.clock.now + seconds] * created(call.verb, call.path, call.body)
            seconds += changes * WRITE_SECONDS or READ_SECONDS
        return seconds

    @contextlib.contextmanager
    def _in_place(self, here: dict[str, str], slept: list[float]) -> Iterator[None]:
        """The environment of a step, agents that are played in a thread, and waits that only the clock sees."""
        before = dict(os.environ)
        kept = {
            (workflow_event, "GitHub"): functools.partial(GitHub, sleep=slept.append),
            (bot, "open_checkout"): self._open_checkout,
            (publish_round, "open_checkout"): self._open_checkout,
            (run_preview, "open_checkout"): self._open_checkout,
            (run_preview, "_official_board"): self._official_board,
            (run_preview, "inspect_pull"): self._inspect_pull,
            (judge_preview, "inspect_pull"): self._inspect_pull,
            (plan_shards, "read_round_work"): self._read_workload,
            (evaluate_shard, "read_round_work"): self._read_workload,
            (check_shards, "read_round_work"): self._read_workload,
        }
        originals = {where: getattr(*where) for where in kept}
        os.environ.update(here)
        try:
            for (module, name), value in kept.items():
                setattr(module, name, value)
            yield
        finally:
            for (module, name), value in originals.items():
                setattr(module, name, value)
            os.environ.clear()
            os.environ.update(before)

    def _open_checkout(self, start: Path, *arguments: Any, is_lean: bool = False) -> checkouts.Checkout:
        """The checkout, read once for each state of main and the results: jobs of the same minute read the same."""
        state = (self._head, self._exported, is_lean)
        if state not in self._checkouts:
            self._checkouts = {key: value for key, value in self._checkouts.items() if key[:2] == state[:2]}
            self._checkouts[state] = checkouts.open_checkout(start, *arguments, is_lean=is_lean)
        return self._checkouts[state]

    def _official_board(self, opened: checkouts.Checkout) -> Any:
        """The same of the board that a preview compares with."""
        state = (self._head, self._exported)
        if self._board is None or self._board[0] != state:
            self._board = (state, _ORIGINAL_BOARD(opened))
        return self._board[1]

    def _inspect_pull(
        self, clone: GitRepository, base: str, head: str, author: PullAuthor, limits: SubmissionLimits
    ) -> GuardedPaths:
        """The guard's answer, asked once for the same commits: preview, report and hourly run are machines of their own."""
        if (base, head, author) not in self._guarded:
            self._guarded = {key: paths for key, paths in self._guarded.items() if key[0] == base}
            self._guarded[base, head, author] = inspect_pull(clone, base, head, author, limits)
        return self._guarded[base, head, author]

    def _read_workload(self, official: OfficialRun, sha: str, results_sha: str) -> RoundWork:
        """The same of a round's work: its shards, which are machines of their own, read the same two commits."""
        state = (sha, results_sha, official.plan_context.serialised())
        if self._workload is None or self._workload[0] != state:
            self._workload = (state, _ORIGINAL_WORKLOAD(official, sha, results_sha))
        return self._workload[1]

    def job(
        self, name: str, work: Callable[[], float], seconds: float = 0.0, before: Callable[[], float] | None = None
    ) -> SimulatedJob:
        """A job whose command takes `seconds` beside its requests."""
        own = seconds or SECONDS.get(name, OTHER_SECONDS)
        minutes = self.timeouts.get(name, 360.0)

        def timed() -> float:
            begun = time.monotonic()
            try:
                return work() + own
            finally:
                self.spent[name] += time.monotonic() - begun

        return SimulatedJob(name=name, setup=SETUP, work=timed, before=before, minutes=minutes)


def created(verb: str, path: str, body: Any) -> int:
    """How many comments or issues a request creates."""
    if path.endswith("/graphql"):
        return int(body["query"].count("addComment("))
    return int(verb == "POST" and path.endswith(("/comments", "/issues")))


_ORIGINAL_BOARD = run_preview._official_board
_ORIGINAL_WORKLOAD = evaluate_shard.read_round_work


# The workflows: the jobs in their order, with the commands of their files


def _preview(board: CrowdedBoard, noted: WorkflowRun, variables: dict[str, str]) -> Stages:
    def play() -> float:
        out = board.place / "preview"
        shutil.rmtree(out, ignore_errors=True)
        git(board.workspace, "fetch", "-q", "origin", noted.head_sha)
        board.checkout()
        board.recorded()
        board.call({**variables, "GITHUB_TOKEN": ""}, lambda: bot.preview(head=board.workspace, out=out))
        noted.artifacts["preview"] = _zipped(out)
        return EVALUATION_SECONDS * 2

    yield [board.job("preview", play)]


def _zipped(folder: Path) -> bytes:
    """A folder as upload-artifact stores it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    return packed.getvalue()


def _simple(
    name: str, *commands: Callable[[], object], first: Callable[[], object] | None = None
) -> Callable[[CrowdedBoard, WorkflowRun, dict[str, str]], Stages]:
    """A workflow of one job, whose commands run one after the other, whatever became of the one before; `first` waits."""

    def stages(board: CrowdedBoard, noted: WorkflowRun, variables: dict[str, str]) -> Stages:
        def work() -> float:
            board.checkout()
            board.recorded()
            seconds, failed = 0.0, False
            for command in commands:
                try:
                    seconds += board.call(variables, command)[1]
                except JobFailedError as error:
                    seconds, failed = seconds + error.seconds, True
            if failed:
                raise JobFailedError(seconds)
            return seconds

        before = functools.partial(_seconds, board, variables, first) if first else None
        yield [board.job(name, work, before=before)]

    return stages


def _seconds(board: CrowdedBoard, variables: dict[str, str], command: Callable[[], object]) -> float:
    return board.call(variables, command)[1]


def _official(board: CrowdedBoard, noted: WorkflowRun, variables: dict[str, str]) -> Stages:
    outputs: dict[str, str] = {}
    place = board.place / f"official-{noted.id}"

    def step(sha: str, command: Callable[[], object]) -> float:
        found, seconds = board.call(variables, command, sha=sha)
        outputs.update(found)
        return seconds

    def plan() -> float:
        board.checkout()
        board.recorded()
        return step("", lambda: bot.plan())

    yield [board.job("plan", plan)]
    planned = {name: json.loads(value) for name, value in outputs.items()}
    if "shards" not in planned:
        return
    sha, results_sha, plan_context = planned["sha"], planned["results_sha"], json.dumps(planned["plan_context"])
    plan_context = planned["plan_context"]
    count, unasked = planned["count"], planned["unasked"]
    if count:
        yield [board.job("image", lambda: 0.0)]
        shards = planned["shards"]

        def evaluate(shard: int) -> float:
            out = place / "shards" / f"shard-{shard}"
            step(
                sha,
                lambda: bot.evaluate(
                    shard=shard, shards=len(shards), sha=sha, out=out, results_sha=results_sha,
                    plan_context=plan_context, jobs="1",
                ),
            )  # fmt: skip
            played = [str(path.relative_to(out)) for path in (out / "results").rglob("*.json")]
            board.played.update(played)
            return EVALUATION_SECONDS * len(played)

        yield [board.job("evaluate", functools.partial(evaluate, shard)) for shard in shards]
    recorded = False
    if count or unasked:

        def publish() -> float:
            (place / "shards").mkdir(parents=True, exist_ok=True)
            seconds = 0.0
            for only in ("check", "record"):
                seconds += step(
                    sha,
                    functools.partial(
                        bot.publish, paths=[place / "shards"], sha=sha, shards=len(planned["shards"]),
                        results_sha=results_sha, accepted=place / "accepted", only=only, plan_context=plan_context,
                    ),
                )  # fmt: skip
            return seconds

        def publish_measured() -> float:
            before = board.remote.kilobytes()
            try:
                return publish()
            finally:
                board.pushed_kilobytes += board.remote.kilobytes() - before

        yield [board.job("publish", publish_measured)]
        recorded = True
        shutil.rmtree(place, ignore_errors=True)
    if planned["site"]:
        built: dict[str, str] = {}

        def build() -> float:
            board.checkout()
            found, seconds = board.call(variables, bot.built)
            built.update(found)
            board.recorded()
            found, more = board.call(variables, bot.pulls)
            built.update(found)
            return seconds + more

        yield [board.job("build", build), *([board.job("attest", lambda: 0.0)] if recorded else [])]
        yield [board.job("deploy", lambda: 0.0)]
        if built.get("asked") == "true":
            yield [board.job("deployed", lambda: board.call(variables, lambda: bot.deployed(built=built["built"]))[1])]
    if planned["announce"]:

        def announce() -> float:
            seconds = 0.0
            if json.loads(outputs.get("again", "false")):
                seconds += board.call(variables, bot.again, sha=sha)[1]
            board.checkout(sha)
            board.recorded()
            return seconds + board.call(variables, lambda: bot.announce(plan_context=plan_context), sha=sha)[1]

        yield [board.job("announce", announce)]


_STAGES: dict[str, Callable[[CrowdedBoard, WorkflowRun, dict[str, str]], Stages]] = {
    "preview": _preview,
    "report": _simple("report", bot.report, first=bot.wait),
    "commands": _simple("command", bot.command),
    "reconcile": _simple("reconcile", bot.reconcile, bot.due),
    "official": _official,
}


@contextlib.contextmanager
def played_in_threads() -> Iterator[None]:
    """Every evaluation within the block is played by ThreadSandbox."""
    original = local_evaluator.choose_sandbox
    local_evaluator.choose_sandbox = select_thread  # type: ignore[assignment]
    try:
        yield
    finally:
        local_evaluator.choose_sandbox = original
