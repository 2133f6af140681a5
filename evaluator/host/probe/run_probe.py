"""Checks that a sandbox refuses what it must and allows what it may, with our own agents in real evaluations."""

import contextlib
import dataclasses
import json
import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from evaluator.host.deterministic import pinned_variables
from evaluator.host.docker.hidden_files import hidden_paths
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.loading.submission_folder import SubmissionFolder, assemble
from evaluator.host.process_owner import scratch_folder
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.solo.evaluate_agent import EvaluationRequest, evaluate_agent
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission import MANIFEST_NAME, SubmissionFile
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import SandboxKind, Tier
from evaluator.model.records.verdict import Verdict

PROBE_AGENTS = Path(__file__).parent / "agents"
PROBE_TASK = Task(id="CartPole-v1", episodes=1, max_episode_steps=20)
# The variables of a sandbox besides the pins: its own, and those of the shell, Python and the engine.
ALLOWED_VARIABLES = (
    "PATH", "HOME", "TMPDIR", "HOSTNAME", "PYTHONDONTWRITEBYTECODE", "PWD", "SHLVL", "_", "LC_CTYPE", "OLDPWD",
)  # fmt: skip
# The promise behind each attempt, a function of `escape_attempts.py`.
ATTEMPT_PROMISES = {
    "write_elsewhere": "nothing outside its temporary directory can be written",
    "run_from_tmp": "nothing in its temporary directory can be run",
    "run_from_memory": "no program can be run from memory",
    "load_from_tmp": "nothing in its temporary directory can be loaded as code",
    "run_machine_code": "no machine code of its own can be run",
    "read_the_machine": "nothing in /proc or /sys describes this machine",
    "change_the_kernel": "no setting of the kernel can be written",
    "read_the_mounts": "no path of this machine can be seen",
    "measure_the_machine": "this machine's load and memory cannot be seen",
    "reach_network": "neither this machine nor the network can be reached",
    "open_other_sockets": "no socket but a Unix socket can be made",
    "enter_the_kernel": "system calls that no agent needs are refused",
    "have_a_user": "its user is no other container's",
    "read_host_file": "no file of this machine can be read",
    "read_environment": "no environment variable of this machine can be seen",
    "see_processes": "no other process can be seen",
    "reach_engine": "the container engine cannot be reached",
    "gain_privileges": "no privilege can be had",
    "fill_tmp": "its temporary directory holds no more than its size",
    "write_one_mebibyte": "one mebibyte can be written where it is allowed",
}

# What SECURITY.md says cannot be closed: tried and reported all the same. Python's ctypes, numpy and torch make code in
# memory; gVisor maps files as code wherever they lie; Linux has no switch for the list of mounts and for sysinfo.
NOT_PROMISED: dict[SandboxKind, frozenset[str]] = {
    SandboxKind.DOCKER: frozenset({"run_machine_code", "read_the_mounts", "measure_the_machine"}),
    SandboxKind.GVISOR: frozenset({"run_machine_code", "load_from_tmp"}),
    SandboxKind.PROCESS: frozenset({"run_machine_code"}),
}


@dataclass(frozen=True, kw_only=True)
class ProbeCheck:
    """The check of one promise of a sandbox."""

    name: str
    held: bool
    detail: str
    promised: bool = True
    """Whether this kind of sandbox promises it at all."""

    @property
    def failed(self) -> bool:
        """Whether a promise was broken."""
        return self.promised and not self.held


@dataclass(frozen=True, kw_only=True)
class ExcessCheck:
    """An agent that exceeds one limit, and how its evaluation must end."""

    agent: str
    """Its file in `agents/`."""
    name: str
    verdict: Verdict
    says: str
    limits: dict[str, float]


LIMIT_CHECKS = (
    ExcessCheck(agent="memory_hog", name="more memory than the limit ends it", verdict=Verdict.OUT_OF_MEMORY, says="",
        limits={"memory_mib": 128, "answer_seconds": 60}),
    ExcessCheck(agent="cpu_burn", name="more processor time than the limit ends it", verdict=Verdict.TIMEOUT,
        says="processor", limits={"cpu_seconds": 1, "answer_seconds": 60, "task_seconds": 240}),
    ExcessCheck(agent="slow_answer", name="a late answer ends it", verdict=Verdict.TIMEOUT, says="no answer within",
        limits={"answer_seconds": 0.5}),
    ExcessCheck(agent="slow_start", name="an agent that never is ready is ended", verdict=Verdict.TIMEOUT, says="ready",
        limits={"start_seconds": 4}),
    ExcessCheck(agent="log_flood", name="more output than the limit ends it", verdict=Verdict.OUTPUT_LIMIT, says="",
        limits={"answer_seconds": 60}),
)  # fmt: skip


def probe(chosen: SelectedSandbox, limits: Limits) -> list[ProbeCheck]:
    """Run all checks."""
    return [
        *escape_checks(chosen, limits),
        _fork_check(chosen, limits),
        *(_limit_check(chosen, limits, excess) for excess in LIMIT_CHECKS),
    ]


def _evaluate(chosen: SelectedSandbox, limits: Limits, agent: str, parameters: dict[str, object] | None = None) -> Result:
    request = EvaluationRequest(
        login="local",
        login_id=None,
        agent="probe",
        folder=_folder(agent, parameters or {}),
        gym_task=load_gym_task(PROBE_TASK),
        limits=limits,
        season="probe",
        beacon="probe",
        beacon_verified=False,
        tier=Tier.LOCAL,
        runtime_digest="0" * 64,
    )
    return evaluate_agent(request, chosen.kind, chosen.opener, lambda: datetime.now(UTC), lambda done: None).result


def _folder(agent: str, parameters: dict[str, object]) -> SubmissionFolder:
    manifest = f"name: Probe\nalgorithm: probe\nentry: {agent}.py\n"
    files = {
        MANIFEST_NAME: manifest.encode(),
        f"{agent}.py": (PROBE_AGENTS / f"{agent}.py").read_bytes(),
        "parameters.json": json.dumps(parameters).encode(),
    }
    return assemble(
        tuple(SubmissionFile(path=p, executable=False, content=c) for p, c in sorted(files.items())), SubmissionLimits()
    )


def escape_checks(chosen: SelectedSandbox, limits: Limits) -> Iterator[ProbeCheck]:
    """Run `escape_attempts.py`, with an open port and a readable file here for it to find."""
    with (
        scratch_folder("canary") as folder,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        canary = Path(folder, "canary")
        canary.write_text("a file of this machine")
        canary.chmod(0o644)
        canary.parent.chmod(0o755)
        parameters = {
            "attempts": list(ATTEMPT_PROMISES),
            "canary": str(canary),
            "port": listener.getsockname()[1],
            "environment": [*pinned_variables(), *ALLOWED_VARIABLES],
            "tmpfs_mib": limits.tmpfs_mib,
            "memory_mib": limits.memory_mib,
            "hidden": [] if chosen.kind is SandboxKind.GVISOR else hidden_paths(),
            "shares_kernel": chosen.kind is not SandboxKind.GVISOR,
            "machine": _machine_names(),
            "uptime": time.clock_gettime(time.CLOCK_BOOTTIME),
            "temporary": tempfile.gettempdir(),
        }
        result = _evaluate(chosen, limits, "escape_attempts", parameters)
    lines = [line for line in result.log_tail.splitlines() if line.startswith("probe [") and line.endswith("]")]
    findings = dict(json.loads(line.removeprefix("probe ")) for line in lines)
    for name, words in ATTEMPT_PROMISES.items():
        fault = findings.get(name, "the probe did not get so far")
        promised = name not in NOT_PROMISED[chosen.kind]
        yield ProbeCheck(name=words, held=fault is None, detail=fault or "", promised=promised)
    ok = result.verdict is Verdict.OK
    yield ProbeCheck(name="an honest agent can answer", held=ok, detail=f"{result.verdict} {result.message}".strip())


def _machine_names() -> list[str]:
    """Texts by which this machine can be told from others: the boot's id and the kernel's command line."""
    texts = []
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/cmdline"):
        with contextlib.suppress(OSError):
            texts.append(Path(path).read_text().strip())
    return [text for text in texts if text]


def _fork_check(chosen: SelectedSandbox, limits: Limits) -> ProbeCheck:
    """Run a fork bomb: the kernel may refuse a fork, or the sandbox may end."""
    few = limits.model_copy(update={"pids": min(limits.pids, 50)})
    result = _evaluate(chosen, few, "fork_bomb")
    refused = "refused after" in result.log_tail
    ended = result.verdict not in (Verdict.OK, Verdict.INTERNAL_ERROR)
    detail = result.log_tail.strip() or f"{result.verdict} {result.message}"
    return ProbeCheck(name="more processes than the limit are refused", held=refused or ended, detail=detail[:200])


def _limit_check(chosen: SelectedSandbox, limits: Limits, excess: ExcessCheck) -> ProbeCheck:
    result = _evaluate(chosen, limits.model_copy(update=excess.limits), excess.agent)
    held = result.verdict is excess.verdict and excess.says in result.message
    return ProbeCheck(name=excess.name, held=held, detail=f"{result.verdict} {result.message}".strip())


def as_document(checks: list[ProbeCheck]) -> list[dict[str, object]]:
    """The checks as JSON."""
    return [dataclasses.asdict(check) for check in checks]
