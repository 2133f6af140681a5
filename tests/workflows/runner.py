"""Runs workflow files as GitHub would: jobs by their needs and conditions, steps in order, outputs handed on.

Every expression is evaluated by GitHub's own engine. `run:` lines run in bash as they stand in the file; `uses:` steps
are done by their local equivalents in actions.py. Jobs run one after the other, since what they hand on is all that counts.
"""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.workflows.engine import Expressions
from tests.workflows.files import read

KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "DOCKER_HOST", "BASE_IMAGE", "SSL_CERT_FILE", "XDG_CACHE_HOME")
SECONDS = 900


class StepFailedError(Exception):
    """A step that ended badly; the job goes on with the steps that want that."""


class LostError(Exception):
    """The machine is gone: nothing of the job happens any more."""


@dataclass
class Step:
    """What became of a step."""

    name: str
    outcome: str
    outputs: dict[str, str] = field(default_factory=dict)
    log: str = ""


@dataclass
class Job:
    """What became of a job, or of one instance of its matrix."""

    result: str
    outputs: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    summary: str = ""
    inner: "Run | None" = None


@dataclass
class Run:
    """What became of a workflow."""

    jobs: dict[str, Job] = field(default_factory=dict)
    shards: dict[str, list[Job]] = field(default_factory=dict)

    @property
    def conclusion(self) -> str:
        """As GitHub concludes."""
        results = {job.result for job in self.jobs.values()}
        if "failure" in results:
            return "failure"
        return "skipped" if results == {"skipped"} else "success"

    @property
    def began_another(self) -> bool:
        """Whether an official run began the next round."""
        steps = self.jobs["announce"].steps
        return any(step.name.endswith("Begin the next round") and step.outcome == "success" for step in steps)

    def log(self) -> str:
        """Everything that was printed, for a failing test."""
        parts = []
        for name, job in self.jobs.items():
            parts.append(f"== {name}: {job.result}")
            for instance in self.shards.get(name, [job]):
                parts += [f"-- {step.name}: {step.outcome}\n{step.log}" for step in instance.steps]
            if job.inner:
                parts.append(job.inner.log())
        return "\n".join(parts)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One fresh machine for one job."""

    workspace: Path
    temp: Path
    github: dict[str, Any]
    matrix: dict[str, Any]


Action = Callable[[Machine, dict[str, Any]], dict[str, str]]
"""Does what an action does: inputs in, outputs out."""


@dataclass
class Runner:
    """Runs workflow files."""

    expressions: Expressions
    root: Path
    actions: dict[str, Action]
    source: Callable[[str, str], str]
    """Text of a file on a commit."""
    variables: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    before_step: Callable[[str, str, dict[str, Any], str], None] = lambda *_: None
    """Called with the workflow, job, matrix and step about to begin; raises LostError where a machine dies."""
    grant: Callable[[str, dict[str, str]], None] = lambda *_: None
    """Called with each job's token and its permissions."""
    machines: int = 0

    def run(self, path: str, github: dict[str, Any], needs: dict[str, Any] | None = None) -> Run:
        """Run one workflow file of the commit that `github.workflow_sha` names."""
        place = self.root / f"workflow-{self.machines}.yml"
        place.write_text(self.source(github["workflow_sha"], path), encoding="utf-8")
        workflow, conditions = read(place), self.expressions.conditions(place)
        run = Run()
        for job_id in _order(workflow["jobs"]):
            job = workflow["jobs"][job_id]
            contexts = {
                "github": {**github, "job": job_id}, "vars": self.variables, "inputs": {}, "secrets": {},
                "needs": {name: _need(run.jobs[name]) for name in _needs(job)},
            }  # fmt: skip
            status = _status(run, workflow["jobs"], job_id)
            if not self.expressions.holds(conditions[job_id]["if"], contexts, status):
                run.jobs[job_id] = Job("skipped")
            elif "uses" in job:
                run.jobs[job_id] = self._called(job, contexts)
            else:
                instances = self._instances(path, job_id, job, contexts, conditions[job_id]["steps"])
                run.shards[job_id] = instances
                run.jobs[job_id] = _together(instances)
        return run

    def _called(self, job: dict[str, Any], contexts: dict[str, Any]) -> Job:
        path = job["uses"].removeprefix("./")
        inner = self.run(path, contexts["github"])
        text = self.source(contexts["github"]["workflow_sha"], path)
        place = self.root / "called.yml"
        place.write_text(text, encoding="utf-8")
        declared = ((read(place)["on"].get("workflow_call") or {}).get("outputs")) or {}
        jobs = {name: _need(result) for name, result in inner.jobs.items()}
        outputs = {name: self._text(one["value"], {"jobs": jobs}) for name, one in declared.items()}
        return Job("success" if inner.conclusion == "skipped" else inner.conclusion, outputs, inner=inner)

    def _instances(self, path: str, job_id: str, job: dict[str, Any], contexts: dict[str, Any], ifs: list[str]) -> list[Job]:
        strategy = job.get("strategy", {})
        axes = {name: self.expressions.fill(value, contexts) for name, value in strategy.get("matrix", {}).items()}
        assert len(axes) <= 1, "one axis is all that our workflows have"
        cells = [{name: value} for name, values in axes.items() for value in values] or [{}]
        instances = []
        for index, cell in enumerate(cells):
            place = {"job-index": index, "job-total": len(cells), "fail-fast": strategy.get("fail-fast", True)}
            here = {**contexts, "matrix": cell, "strategy": place}
            assert self.expressions.fill(job["runs-on"], here), "a job needs a machine"
            instances.append(self._job(path, job_id, job, here, ifs))
        return instances

    def _job(self, path: str, job_id: str, job: dict[str, Any], contexts: dict[str, Any], ifs: list[str]) -> Job:
        self.machines += 1
        place = self.root / f"machine-{self.machines}"
        token = f"token-{self.machines}"
        self.grant(token, job.get("permissions", {}))
        machine = Machine(
            workspace=place / "board", temp=place / "temp", matrix=contexts["matrix"],
            github={**contexts["github"], "token": token, "workspace": str(place / "board")},
        )  # fmt: skip
        for folder in (machine.workspace, machine.temp, place / "files"):
            folder.mkdir(parents=True)
        here = {**contexts, "github": machine.github, "runner": {"temp": str(machine.temp), "os": "Linux"}, "env": {}}
        steps, status, known = [], "success", {}
        try:
            for number, (step, condition) in enumerate(zip(job["steps"], ifs, strict=True)):
                name = step.get("name", f"step {number}")
                here["steps"] = known
                if not self.expressions.holds(condition, here, status):
                    steps.append(Step(name, "skipped"))
                    continue
                self.before_step(path, job_id, machine.matrix, name)
                done = self._step(step, name, machine, here, place / "files")
                steps.append(done)
                failed = done.outcome == "failure" and not step.get("continue-on-error")
                status = "failure" if failed else status
                if "id" in step:
                    outcome = {"outcome": done.outcome, "conclusion": "failure" if failed else "success"}
                    known[step["id"]] = {"outputs": done.outputs, **outcome}
        except LostError:
            return Job("failure", steps=[*steps, Step("the machine is gone", "failure")])
        here["steps"] = known
        outputs = {key: self._text(value, here) for key, value in job.get("outputs", {}).items()}
        summary = "".join(path.read_text() for path in sorted((place / "files").glob("*summary")))
        return Job(status, outputs, steps, summary)

    def _text(self, value: Any, contexts: dict[str, Any]) -> str:
        filled = self.expressions.fill(value, contexts)
        return "" if filled is None else filled if isinstance(filled, str) else json.dumps(filled)

    def _step(self, step: dict[str, Any], name: str, machine: Machine, contexts: dict[str, Any], files: Path) -> Step:
        if "uses" in step:
            inputs = {key: self.expressions.fill(value, contexts) for key, value in step.get("with", {}).items()}
            try:
                return Step(name, "success", self.actions[step["uses"].partition("@")[0]](machine, inputs))
            except StepFailedError as error:
                return Step(name, "failure", log=str(error))
        number = len(list(files.glob("*output")))
        command_files = {kind: files / f"{number:02}-{kind}" for kind in ("output", "summary", "env", "path")}
        for file in command_files.values():
            file.touch()
        own = {key: self._text(value, contexts) for key, value in step.get("env", {}).items()}
        environment = {**self._environment(machine, command_files), **own}
        script = files / f"{number:02}.sh"
        script.write_text(step["run"] + "\n", encoding="utf-8")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)], cwd=machine.workspace, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert command_files["env"].read_text() == command_files["path"].read_text() == "", (
            "no step of ours changes what later steps run in"
        )
        outcome = "success" if done.returncode == 0 else "failure"
        log = f"{done.stdout.decode(errors='replace')}exit code {done.returncode}\n"
        return Step(name, outcome, parse_outputs(command_files["output"].read_text()), log)

    def _environment(self, machine: Machine, command_files: dict[str, Path]) -> dict[str, str]:
        github = machine.github
        event = machine.temp.parent / "event.json"
        event.write_text(json.dumps(github["event"]), encoding="utf-8")
        names = ("event_name", "repository", "repository_id", "sha", "ref", "run_id", "run_attempt", "api_url", "server_url")
        return {
            **{name: os.environ[name] for name in KEPT if name in os.environ},
            **{f"GITHUB_{name.upper()}": str(github[name]) for name in names}, "PULLRANK_PACE": "0",
            "HOME": str(machine.temp.parent), "RUNNER_TEMP": str(machine.temp), "CI": "true", "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_PATH": str(event), "GITHUB_WORKSPACE": str(machine.workspace),
            "GITHUB_OUTPUT": str(command_files["output"]), "GITHUB_STEP_SUMMARY": str(command_files["summary"]),
            "GITHUB_ENV": str(command_files["env"]), "GITHUB_PATH": str(command_files["path"]), **self.environment,
        }  # fmt: skip


def parse_outputs(text: str) -> dict[str, str]:
    """GITHUB_OUTPUT: `name=value`, or `name<<word` with lines up to the word."""
    outputs: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        if "<<" in line.partition("=")[0]:
            name, _, word = line.partition("<<")
            kept = []
            for inner in lines:
                if inner == word:
                    break
                kept.append(inner)
            outputs[name] = "\n".join(kept)
        elif "=" in line:
            name, _, value = line.partition("=")
            outputs[name] = value
    return outputs


def _needs(job: dict[str, Any]) -> list[str]:
    needs = job.get("needs", [])
    return [needs] if isinstance(needs, str) else list(needs)


def _order(jobs: dict[str, Any]) -> list[str]:
    done: list[str] = []
    while len(done) < len(jobs):
        done.append(next(name for name, job in jobs.items() if name not in done and set(_needs(job)) <= set(done)))
    return done


def _need(job: Job) -> dict[str, Any]:
    return {"result": job.result, "outputs": job.outputs}


def _status(run: Run, jobs: dict[str, Any], job_id: str) -> str:
    """What success() and failure() see: every job that this one waits for, near or far."""
    waiting, seen = _needs(jobs[job_id]), set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        waiting += _needs(jobs[name])
    results = {run.jobs[name].result for name in seen}
    return "failure" if "failure" in results else "skipped" if "skipped" in results else "success"


def _together(instances: list[Job]) -> Job:
    """A matrix job: failed if one of its instances did."""
    outputs = {key: value for job in instances for key, value in job.outputs.items()}
    result = "failure" if any(job.result == "failure" for job in instances) else "success"
    steps = [step for job in instances for step in job.steps]
    return Job(result, outputs, steps, "".join(job.summary for job in instances))
