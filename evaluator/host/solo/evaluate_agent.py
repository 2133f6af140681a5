"""Evaluation of one agent on one task: sandbox, referee, result and trace."""

import dataclasses
import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from evaluator.host.attempts.attempt import (
    ATTEMPTS,
    clean_log,
    convert_internal_errors,
    first_attempt,
    may_retry,
    prefer_specific,
    with_traceback,
)
from evaluator.host.attempts.request import MeasurementRequest, sandbox_spec
from evaluator.host.digests.runtime_digest import with_extras
from evaluator.host.envs.custom_metrics import compute_custom_metrics, to_episodes
from evaluator.host.envs.gym_task import GymTask
from evaluator.host.envs.recorder import PlayedEpisode
from evaluator.host.errors import AgentFault, RegistryFault, SandboxClosed
from evaluator.host.loading.submission_folder import SubmissionFolder, stage
from evaluator.host.machine import machine_digest
from evaluator.host.process_owner import scratch_folder
from evaluator.host.progress import ReportProgress
from evaluator.host.sandboxes.channel import clean_text
from evaluator.host.sandboxes.sandbox import Sandbox, SandboxFactory, wait_for_pace
from evaluator.host.seeds.derive import agent_seeds, episode_seeds
from evaluator.host.seeds.season_secret import SeasonSecret, SecretError
from evaluator.host.solo.partial_record import PartialFolder, PartialRecord, evaluator_code
from evaluator.host.solo.referee import EpisodeSpec, SoloOutcome, SoloRun, play_episodes
from evaluator.host.training_scripts.evaluate_script import ScriptPerformance, ScriptSession, evaluate_script
from evaluator.host.training_scripts.script_env_server import ScriptTask
from evaluator.host.usage import MIB, Usage
from evaluator.model.config.challenge import Limits
from evaluator.model.config.submission import EXTRA_MODULES, SubmissionKind
from evaluator.model.records import result as results
from evaluator.model.records.result import (
    Cost,
    Devices,
    FirstAttempt,
    Result,
    SandboxKind,
    Tier,
    WantedResult,
    with_self_hash,
)
from evaluator.model.records.trace import EpisodeTrace, Trace, TraceLeaf, largest_trace
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import secret_hash


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest(MeasurementRequest):
    """What is to be evaluated, and for whom."""

    login: str
    login_id: int | None
    """GitHub's number of the owner."""
    agent: str
    folder: SubmissionFolder
    gym_task: GymTask
    secret: SeasonSecret | None = None
    """In a sealed season: where the seeds come from."""
    gpus: Devices | None = None
    """The graphics cards that it is handed, where the leaderboard wants some."""
    answering: bool = False
    """Whether its owner answers for a registry or host of weights that fails: it failed in all tries but the last one."""

    def wanted(self) -> WantedResult:
        """What the result depends on."""
        return WantedResult(
            submission_digest=self.folder.digest,
            task_digest=self.gym_task.task.digest(),
            runtime_digest=with_extras(self.runtime_digest, self.folder.submission.needs),
            season=self.season,
            beacon=self.beacon,
        )

    def _season_secret(self) -> SeasonSecret | None:
        """Where the seeds of a sealed season come from; None where they are open.

        Raises:
            SecretError: it is missing; with other seeds anybody could derive the episodes.
        """
        sha256 = secret_hash(self.beacon)
        if sha256 is not None and (self.secret is None or self.secret.sha256 != sha256):
            raise SecretError("these episodes come from a secret that is not at hand; nothing is played without it")
        return self.secret if sha256 else None

    def seeds(self, first: int = 0, count: int | None = None) -> tuple[str, ...]:
        """The environment seeds of so many episodes from the number `first` on, of all that count where `count` is None.

        Raises:
            SecretError: they come from a secret that is missing.
        """
        task = self.gym_task.task
        count = task.counted if count is None else count
        if secret := self._season_secret():
            return secret.episode_seeds(self.season, task.id, count, first)
        return episode_seeds(self.season, self.beacon, self.folder.digest, task.id, count, first)

    def _agent_seeds(self) -> tuple[int, ...]:
        task = self.gym_task.task
        if secret := self._season_secret():
            return secret.agent_seeds(self.season, self.folder.digest, task.id, task.counted)
        return agent_seeds(self.season, self.beacon, self.folder.digest, task.id, task.counted)

    @property
    def allowed(self) -> Limits:
        """What the sandbox may use, with the memory that the agent's extras need."""
        return self.folder.submission.allowed(self.limits)

    def specs(self) -> tuple[EpisodeSpec, ...]:
        """The episodes to play."""
        pairs = zip(self.seeds(), self._agent_seeds(), strict=True)
        return tuple(EpisodeSpec(index=i, seed=seed, agent_seed=own) for i, (seed, own) in enumerate(pairs))


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A result with its trace."""

    result: Result
    """The result; it has returns if the verdict is ok."""
    trace: bytes | None
    """The trace file, if the verdict is ok."""


@dataclass(frozen=True, kw_only=True)
class _EvaluationRun:
    """The outcome of an attempt, from which the result is made."""

    verdict: Verdict
    message: str = ""
    log_tail: str = ""
    outcome: SoloOutcome | None = None
    performance: ScriptPerformance | None = None
    custom_metrics: dict[str, float] = dataclasses.field(default_factory=dict)
    usage: Usage = dataclasses.field(default_factory=Usage)
    wall_seconds: float = 0.0
    first: FirstAttempt | None = None
    sandbox: SandboxKind
    image_digest: str | None = None
    continuations: tuple[int, ...] = ()
    """Episodes that were recorded each time an interrupted evaluation was continued."""


@dataclass(frozen=True, kw_only=True)
class _Callbacks:
    """What is called during an attempt."""

    progress: ReportProgress
    shown: Callable[[], None]
    partials: PartialFolder | None
    """Where finished episodes are kept in case of an interruption."""


def evaluate_agent(
    request: EvaluationRequest,
    kind: SandboxKind,
    opener: SandboxFactory,
    now: Callable[[], datetime],
    progress: ReportProgress,
    partials: PartialFolder | None = None,
) -> Evaluation:
    """Play the agent on the task; only a failed start is tried once more.

    With a folder of partial records an evaluation that was interrupted goes on after its last recorded episode.
    """
    first: FirstAttempt | None = None
    for _ in range(ATTEMPTS):
        shown = Event()
        run = _attempt(request, kind, opener, _Callbacks(progress=progress, shown=shown.set, partials=partials))
        if first is not None or not may_retry(run.verdict, shown):
            break
        first = first_attempt(run.verdict, run.message, run.wall_seconds)
    run = dataclasses.replace(run, first=first)

    def failed(message: str) -> Evaluation:
        return _to_evaluation(
            request, _EvaluationRun(verdict=Verdict.INTERNAL_ERROR, message=message, sandbox=kind, first=first), now()
        )

    # A failure while recording, such as of a return that is no number, must not stop other evaluations.
    return convert_internal_errors(lambda: _to_evaluation(request, run, now()), failed)


def _attempt(request: EvaluationRequest, kind: SandboxKind, opener: SandboxFactory, callbacks: _Callbacks) -> _EvaluationRun:
    def in_sandbox() -> _EvaluationRun:
        with scratch_folder("agent") as name:
            try:
                return _in_sandbox(request, opener, Path(name), callbacks)
            except AgentFault as fault:  # such as an agent's image that cannot be fetched
                if request.answering and isinstance(fault, RegistryFault):
                    words = f"its files could not be had in any try: {fault}"
                    return _EvaluationRun(verdict=Verdict.TIMEOUT, message=words, sandbox=kind)
                return _EvaluationRun(verdict=fault.verdict, message=str(fault), sandbox=kind)

    def failed(message: str) -> _EvaluationRun:
        return _EvaluationRun(verdict=Verdict.INTERNAL_ERROR, message=message, sandbox=kind)

    begun = time.monotonic()
    run = convert_internal_errors(in_sandbox, failed)
    return dataclasses.replace(run, wall_seconds=time.monotonic() - begun)


def _in_sandbox(request: EvaluationRequest, opener: SandboxFactory, room: Path, callbacks: _Callbacks) -> _EvaluationRun:
    is_official = request.tier is Tier.OFFICIAL
    if stage(request.folder, room) and is_official:
        wait_for_pace()
    gpus = len(request.gpus.cards) if request.gpus else 0
    sandbox = opener(sandbox_spec(request.folder, room, request.limits, gpus=gpus, is_paced=is_official))
    try:
        played = _run_script if request.folder.submission.kind is SubmissionKind.SCRIPT else _play_episodes
        run = played(request, sandbox, callbacks)
    finally:
        sandbox.close()
    return dataclasses.replace(run, custom_metrics=_custom_metrics(request, run)) if run.verdict is Verdict.OK else run


def _play_episodes(request: EvaluationRequest, sandbox: Sandbox, callbacks: _Callbacks) -> _EvaluationRun:
    # In a sealed season nothing about an episode may lie on the disk.
    if callbacks.partials is None or request.secret is not None:
        return _play_rest(request, sandbox, callbacks, None)
    with callbacks.partials.opened(_belongs_to(request, sandbox), request.gym_task.task.counted) as partial:
        run = _play_rest(request, sandbox, callbacks, partial)
        if partial is None:
            return run
        if run.verdict is not Verdict.INTERNAL_ERROR:
            partial.discard()
        if not partial.continuations:
            return run
        usage = dataclasses.replace(run.usage, cpu_seconds=partial.cpu_seconds + (run.usage.cpu_seconds or 0.0))
        return dataclasses.replace(run, continuations=partial.continuations, usage=usage)


def _belongs_to(request: EvaluationRequest, sandbox: Sandbox) -> dict[str, str]:
    """All that must be the same when an evaluation is continued, so that no result is of two machines, runs or versions."""
    return {
        "key": request.wanted().key(), "task": request.gym_task.task.id, "agent": f"{request.login}/{request.agent}",
        "tier": request.tier, "commit": request.commit or "", "run": request.run_url or "", "sandbox": sandbox.kind,
        "image": sandbox.image_digest or "", "limits": request.allowed.model_dump_json(), "code": evaluator_code(),
        "machine": machine_digest(), "cards": request.gpus.model_dump_json() if request.gpus else "",
    }  # fmt: skip


def _recorded_episodes(request: EvaluationRequest, partial: PartialRecord | None) -> dict[int, PlayedEpisode]:
    """The episodes of an interrupted attempt, with actions of the types that the environment takes."""
    leaves = request.gym_task.decoder().leaves
    episodes = {}
    for number, episode in (partial.episodes if partial else {}).items():
        actions = tuple(a.astype(leaf.dtype) for a, leaf in zip(episode.actions, leaves, strict=True))
        episodes[number] = dataclasses.replace(episode, actions=actions)
    return episodes


def _measure_from_now(sandbox: Sandbox, partial: PartialRecord) -> None:
    """Count what the agent uses from now on, its first observation: its start is not counted twice."""

    def read() -> tuple[float, float]:
        return sandbox.usage().cpu_seconds or 0.0, time.monotonic()

    begun = read()
    partial.used = lambda: (max(0.0, (now := read())[0] - begun[0]), now[1] - begun[1])


def _play_rest(
    request: EvaluationRequest, sandbox: Sandbox, callbacks: _Callbacks, partial: PartialRecord | None
) -> _EvaluationRun:
    """Play what is not recorded."""
    if partial:
        sandbox.charge(partial.cpu_seconds, partial.wall_seconds)

    def shown() -> None:
        if partial:
            _measure_from_now(sandbox, partial)
        _before_showing(sandbox, callbacks)

    run_setup = SoloRun(
        gym_task=request.gym_task, specs=request.specs(), limits=request.allowed, progress=callbacks.progress,
        pin_sandbox=sandbox.pin, shown=shown, recorded=_recorded_episodes(request, partial),
        keep=partial.add if partial else lambda number, episode: None,
    )  # fmt: skip
    outcome: SoloOutcome | None = None
    try:
        outcome = play_episodes(run_setup, sandbox.stream())
        fault = AgentFault(Verdict.OK, "")
    except SandboxClosed:
        fault = sandbox.post_mortem()
    except AgentFault as caught:
        fault = caught
    usage = sandbox.usage()
    if fault.verdict is Verdict.CRASHED:
        fault = prefer_specific(fault, sandbox.post_mortem())
    usage = usage.or_larger(sandbox.usage())  # only now it is known whether the memory's limit was reached
    sandbox.end()
    if sandbox.kind is SandboxKind.PROCESS and _lacks_an_extra(fault, request.folder.submission.needs):
        words = "the agent's extras are not installed on this machine: start Docker, or install them with pip"
        fault = AgentFault(Verdict.INTERNAL_ERROR, f"{words} ({str(fault).partition(';')[0]})", fault.trace)
    return _EvaluationRun(
        verdict=fault.verdict,
        message=str(fault),
        log_tail=with_traceback(sandbox.log_tail(), fault),
        outcome=outcome,
        usage=usage,
        sandbox=sandbox.kind,
        image_digest=sandbox.image_digest,
    )


def _run_script(request: EvaluationRequest, sandbox: Sandbox, callbacks: _Callbacks) -> _EvaluationRun:
    """Run a training script, which asks for episodes instead of being asked for actions."""
    rules = request.gym_task.task.script
    if rules is None:
        message = f"the task {request.gym_task.task.id} takes no scripts; name a task that has rules for them"
        return _EvaluationRun(
            verdict=Verdict.INVALID, message=message, sandbox=sandbox.kind, image_digest=sandbox.image_digest
        )

    def seed_of(episode: int) -> str:
        _before_showing(sandbox, callbacks)
        return request.seeds(episode, 1)[0]

    session = ScriptSession(
        offer=ScriptTask(gym_task=request.gym_task, rules=rules, seed_of=seed_of),
        agent_seed=request.specs()[0].agent_seed,
        limits=request.allowed,
        progress=callbacks.progress,
        pin_sandbox=sandbox.pin,
    )
    done = evaluate_script(session, sandbox)
    return _EvaluationRun(
        verdict=done.verdict, message=done.message, log_tail=done.log_tail, performance=done, usage=done.usage,
        sandbox=sandbox.kind, image_digest=sandbox.image_digest,
    )  # fmt: skip


def _before_showing(sandbox: Sandbox, callbacks: _Callbacks) -> None:
    """End the sandbox's start, and note that an observation follows."""
    sandbox.limit_share()
    callbacks.shown()


def _to_evaluation(request: EvaluationRequest, run: _EvaluationRun, now: datetime) -> Evaluation:
    wanted = request.wanted()
    key = wanted.key()
    trace = _trace(key, _episodes(run)) if run.verdict is Verdict.OK else None
    content = trace.serialised() if trace else None
    if content and len(content) > (most := largest_trace(sealed=request.secret is not None)):
        return _to_evaluation(request, _without_trace(run, len(content), most), now)
    fields: dict[str, Any] = {
        "schema": results.RESULT_SCHEMA,
        "key": key,
        **request.record_fields(now, request.folder.submission.needs),
        "task": request.gym_task.task.id,
        **wanted.model_dump(),
        "login": request.login,
        "login_id": request.login_id,
        "agent": request.agent,
        "sandbox": run.sandbox,
        "verdict": run.verdict,
        "message": clean_text(run.message),
        "log_tail": clean_log(run.log_tail),
        "seeds": request.seeds(),
        **_measurements(request, run),
        "limits": request.allowed,
        "cost": _cost(run),
        "image_digest": run.image_digest,
        "trace_sha256": hashlib.sha256(content).hexdigest() if content else None,
        "first_attempt": run.first,
        "gpus": request.gpus,
        "continued_after": run.continuations or None,
    }
    return Evaluation(result=with_self_hash(fields), trace=content)


def _without_trace(run: _EvaluationRun, size: int, most: int) -> _EvaluationRun:
    """The end of an agent whose actions no file holds: its own, since it could add digits when its episodes went badly."""
    message = f"its recorded actions take {size / MIB:.1f} MiB of at most {most / MIB:.1f}; round them to fewer digits"
    return dataclasses.replace(
        run, verdict=Verdict.OUTPUT_LIMIT, message=message, outcome=None, performance=None, custom_metrics={}
    )


def _lacks_an_extra(fault: AgentFault, needs: Sequence[str]) -> bool:
    """Whether a package is missing that the agent's extras bring into a container: the machine's fault, not the agent's."""
    missing = any(f"No module named '{module}" in str(fault) for module, extra in EXTRA_MODULES.items() if extra in needs)
    return missing or any(f"which has the extra {extra}, or install it" in str(fault) for extra in needs)


def _episodes(run: _EvaluationRun) -> tuple[PlayedEpisode, ...]:
    """Every played episode, for the trace."""
    return run.performance.episodes if run.performance else run.outcome.episodes if run.outcome else ()


def _measurements(request: EvaluationRequest, run: _EvaluationRun) -> dict[str, Any]:
    if done := run.performance:
        script = {"script": done.record} if done.record else {}
        if done.counted is None:
            return script
        return {
            **script,
            "seeds": request.seeds(done.counted.first),
            "returns": done.counted.returns,
            "lengths": done.counted.lengths,
            "metrics": {"clipped_actions": float(done.clipped), **run.custom_metrics},
        }
    outcome = run.outcome
    if outcome is None:
        return {}
    return {
        "returns": [episode.total for episode in outcome.episodes],
        "lengths": [episode.length for episode in outcome.episodes],
        "metrics": {"clipped_actions": float(outcome.clipped), **run.custom_metrics},
    }


def _custom_metrics(request: EvaluationRequest, run: _EvaluationRun) -> dict[str, float]:
    """The host's own metrics of the counted episodes; a failure in one is ours."""
    if not any(metric.is_own for metric in request.gym_task.task.metrics):
        return {}
    first = run.performance.counted.first if run.performance and run.performance.counted else 0
    measurements = _measurements(request, run)
    played = [(episode.length, episode.actions) for episode in _episodes(run)[first:]]
    return compute_custom_metrics(
        request.gym_task, to_episodes(request.gym_task, request.seeds(first), measurements["returns"], played)
    )


def _cost(run: _EvaluationRun) -> Cost:
    steps = sum(episode.length for episode in _episodes(run))
    return Cost(
        cpu_seconds=run.usage.cpu_seconds,
        wall_seconds=round(run.wall_seconds, 3),
        peak_memory_bytes=run.usage.peak_memory_bytes,
        steps=steps,
    )


def _trace(key: str, episodes: Sequence[PlayedEpisode]) -> Trace:
    leaves = zip(*(episode.actions for episode in episodes), strict=True)
    return Trace(
        schema=1,
        key=key,
        episodes=tuple(EpisodeTrace(length=e.length, checksum=e.checksum) for e in episodes),
        actions=tuple(TraceLeaf.of(np.concatenate(leaf)) for leaf in leaves),
    )
