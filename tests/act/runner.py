"""Runs a workflow file of a commit under act, with the real actions, and reads from its log what became of each step."""

import contextlib
import json
import math
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from tests.act import places
from tests.act.artifacts import ArtifactService
from tests.act.githttp import GitServer
from tests.github.world import BOT, OWNER
from tests.workflows.facts import pins
from tests.workflows.files import read
from tests.workflows.remote import Remote, git
from tests.workflows.runner import Job, Run, Step

# A workflow takes a minute or three here; in a sealed season two jobs wait ten more each. One that takes this long hangs.
SECONDS = 2100
# The one line that act 0.2.89 refuses to read, strict or not; it knows nothing of environments anyway. Left out of the copy
# that act reads.
UNKNOWN = re.compile(rb"^ +deployment: false( #[^\n]*)?\n", re.MULTILINE)
# It plays shards one after the other instead.
NOT_DONE = "Failed to parse 'max-parallel' option"
# What a step of a job may inherit of this process.
KEPT = ("LANG", "LC_ALL", "TMPDIR", "DOCKER_HOST", "BASE_IMAGE", "SSL_CERT_FILE", "SSL_CERT_DIR")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, kw_only=True)
class Timed:
    """How long one job took."""

    workflow: str
    event: str
    job: str
    seconds: float
    occasion: str = ""
    """What the board went through then; empty where nothing is measured."""

    @property
    def billed(self) -> int:
        """Minutes as GitHub bills them: each job rounded up."""
        return math.ceil(self.seconds / 60)


@dataclass
class ActRunner:
    """Stands where tests/workflows/runner.py's Runner stands."""

    remote: Remote
    server: GitServer
    artifacts: ArtifactService
    root: Path
    tokens: dict[str, str]
    finished: Callable[[int, Run], None]
    """Called with a run's number and what became of it."""
    variables: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    dies: tuple[str, ...] = ()
    """Words that the command of a process has which is killed as soon as it is seen; none where nothing dies."""
    killed: list[str] = field(default_factory=list)
    """The commands that were killed, each once for a run of act."""
    jobs: list[Timed] = field(default_factory=list)
    logs: list[Path] = field(default_factory=list)
    before_step: Callable[..., None] = lambda *_: None
    occasion: str = ""

    def run(self, path: str, github: dict[str, Any], needs: dict[str, Any] | None = None) -> Run:
        """Run one workflow file of the commit that `github.workflow_sha` names."""
        number = len(self.logs)
        checkout, event = self.root / f"act-{number}", self.root / f"event-{number}.json"
        self._check_out(checkout, github["workflow_sha"])
        event.write_text(json.dumps(github["event"]), encoding="utf-8")
        token = f"token-act-{number}"
        self.tokens[token] = BOT
        log = self.root / f"act-{number}.jsonl"
        self.logs.append(log)
        with log.open("w") as out, _Killer(self.dies, self.killed, str(self.root)):
            command = self._command(path, github, checkout, event, token)
            code = _wait(
                subprocess.Popen(
                    command, env=self._environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
                )
            )
        lines = read_log(log)
        assert code in (0, 1), f"act ended with {code}: {log.read_text()[-2000:]}"
        assert act_faults(lines) == []
        run = parse_run(lines)
        for name, job in read(checkout / path)["jobs"].items():
            # Of a job that is skipped act says nothing. What a called workflow does stands under its own jobs' names.
            if "uses" not in job:
                run.jobs.setdefault(name, Job("skipped"))
        timed_jobs = timed(lines, Path(path).stem, github["event_name"])
        self.jobs += [replace(job, occasion=self.occasion) for job in timed_jobs]
        self.finished(github["run_id"], run)
        return run

    def _check_out(self, place: Path, sha: str) -> None:
        """Where act takes the workflow's file from: the event's own commit."""
        git(self.root, "clone", "--quiet", "--no-checkout", self.remote.url, str(place))
        git(place, "fetch", "--quiet", "origin", sha)
        git(place, "checkout", "--quiet", "--detach", sha)
        for file in (place / ".github" / "workflows").glob("*.yml"):
            file.write_bytes(UNKNOWN.sub(b"", file.read_bytes()))

    def _command(self, path: str, github: dict[str, Any], checkout: Path, event: Path, token: str) -> list[str]:
        tools = str(places.tool_cache())
        variables = {
            "GITHUB_SERVER_URL": self.server.address, "GITHUB_API_URL": github["api_url"], "GITHUB_REF": github["ref"],
            "GITHUB_GRAPHQL_URL": f"{github['api_url']}/graphql",
            "GITHUB_REPOSITORY": github["repository"], "GITHUB_REPOSITORY_OWNER": OWNER,
            "GITHUB_REPOSITORY_ID": github["repository_id"], "GITHUB_RUN_ID": str(github["run_id"]),
            "GITHUB_RUN_ATTEMPT": str(github["run_attempt"]), "SHA_REF": github["sha"],
            "RUNNER_TOOL_CACHE": tools, "AGENT_TOOLSDIRECTORY": tools,
        }  # fmt: skip
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        # Act gives a job a token for artifacts only where its own service runs; jobs are sent to ours, by the environment.
        command = [
            str(places.program()), github["event_name"], "-W", path, "-e", str(event), "-C", str(checkout),
            "-P", "ubuntu-24.04=-self-hosted", "--no-skip-checkout", "--pull=false", "--no-cache-server", "--json",
            "--artifact-server-path", str(self.root / "artifacts"), "--artifact-server-addr", "127.0.0.1",
            "--artifact-server-port", str(port), "--action-offline-mode", "--action-cache-path", str(self.root / "cache"),
            "--concurrent-jobs", "2", "--defaultbranch", "main", "--actor", OWNER, "-s", f"GITHUB_TOKEN={token}",
        ]  # fmt: skip
        command += [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
        command += [word for name, value in self.variables.items() for word in ("--var", f"{name}={value}")]
        command += [word for name, value in self.secrets.items() for word in ("-s", f"{name}={value}")]
        for pin in pins([file.read_text() for file in (checkout / ".github" / "workflows").glob("*.yml")]):
            command += ["--local-repository", f"{pin.action}@{pin.commit}={places.action(pin.action)}"]
        return command

    def _environment(self) -> dict[str, str]:
        home = self.root / "home"
        home.mkdir(exist_ok=True)
        return {
            **{name: os.environ[name] for name in KEPT if name in os.environ}, "HOME": str(home), **places.offline(),
            "PATH": f"{places.node()}:{PATH}", "PULLRANK_PACE": "0", "ACTIONS_RUNTIME_URL": self.artifacts.address,
            "PULLRANK_ACT_PRIVATE": str(int(self.server.private)), "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for act and return its exit code; where that is cut short, let it end what it started."""
    try:
        return process.wait(SECONDS)
    except BaseException:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


class _Killer:
    """Kills a process of ours as soon as it is seen, as if its machine were lost."""

    def __init__(self, words: tuple[str, ...], killed: list[str], mark: str) -> None:
        """`words` stand in its command, `mark` in its environment."""
        self._words, self._killed, self._mark = words, killed, mark.encode()
        self._commands: set[str] = set()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        if self._words:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._words:
            self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            for place in Path("/proc").iterdir():
                if place.name.isdigit() and (command := self._is_meant(place)):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(place.name), signal.SIGKILL)
                    # On a busy machine one that is killed is seen again, and so is a child that has just been forked.
                    if command not in self._commands:
                        self._commands.add(command)
                        self._killed.append(command)

    def _is_meant(self, place: Path) -> str:
        try:
            words = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
            is_ours = self._mark in (place / "environ").read_bytes()
        except OSError:
            return ""
        text = " ".join(words).strip()
        # Its own command, and not that of the shell whose script it stands in.
        return text if is_ours and "python" in words[0] and all(word in text for word in self._words) else ""


def read_log(place: Path) -> list[dict[str, Any]]:
    """Act's lines; what is no JSON as a message."""
    lines = []
    for text in place.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(text))
        except ValueError:
            # How act ends after a job has failed is no fault of act's.
            is_fault = text.startswith("Error:") and not text.startswith("Error: Job '")
            lines.append({"msg": text, **({"level": "error"} if is_fault else {})})
    return lines


def act_faults(lines: list[dict[str, Any]]) -> list[str]:
    """Where act itself failed, so that what it says of jobs is not to be trusted."""
    errors = [str(line.get("msg")) for line in lines if line.get("level") in ("error", "fatal") and not line.get("jobID")]
    return [line for line in errors if not line.startswith(NOT_DONE)]


def _key(line: dict[str, Any]) -> tuple[str, str]:
    return str(line.get("jobID") or ""), json.dumps(line.get("matrix") or {}, sort_keys=True)


def parse_run(lines: list[dict[str, Any]]) -> Run:
    """What became of each job and step."""
    instances: dict[tuple[str, str], Job] = {}
    texts: dict[tuple[str, str, str], list[str]] = {}
    for line in lines:
        if not line.get("jobID"):
            continue
        key, step = _key(line), str(line.get("step") or "")
        job = instances.setdefault(key, Job("skipped"))
        texts.setdefault((*key, step), []).append(str(line.get("msg", "")))
        # A composite action's own steps stand under the name of the step that uses it, with longer numbers.
        if "stepResult" in line and line.get("stage") == "Main" and len(line.get("stepID", [""])) == 1:
            job.steps.append(Step(step, line["stepResult"]))
        if "jobResult" in line:
            job.result = line["jobResult"]
        if line.get("command") == "summary":
            job.summary += str(line.get("content", ""))
    run = Run()
    for (name, matrix), job in instances.items():
        for step in job.steps:
            step.log = "".join(texts[name, matrix, step.name])
        run.shards.setdefault(name, []).append(job)
    for name, jobs in run.shards.items():
        results = {job.result for job in jobs}
        result = "failure" if "failure" in results else "success" if "success" in results else "skipped"
        summary = "".join(job.summary for job in jobs)
        run.jobs[name] = Job(result, steps=[step for job in jobs for step in job.steps], summary=summary)
    return run


def timed(lines: list[dict[str, Any]], workflow: str, event: str) -> Iterator[Timed]:
    """How long each job that did anything took, a matrix' jobs one by one."""
    spans: dict[tuple[str, str], list[datetime]] = {}
    for line in lines:
        if line.get("jobID") and line.get("step") and line.get("time"):
            spans.setdefault(_key(line), []).append(datetime.fromisoformat(line["time"]))
    for (job, _), moments in spans.items():
        yield Timed(workflow=workflow, event=event, job=job, seconds=(max(moments) - min(moments)).total_seconds())
