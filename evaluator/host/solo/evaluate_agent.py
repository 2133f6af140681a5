"""Evaluation of one agent on one task: the request, attempts in a sandbox, as agent or training script, and the result."""

import dataclasses
import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.host.attempts.attempt import (
    EvaluationEnd,
    clean_log,
    convert_internal_errors,
    prefer_specific,
    with_retry,
    with_traceback,
)
from evaluator.host.attempts.measurement_request import MeasurementRequest, sandbox_spec
from evaluator.host.digests.runtime_digest import with_extras
from evaluator.host.envs.custom_metrics import compute_custom_metrics, to_episodes
from evaluator.host.envs.episode_recorder import PlayedEpisode
from evaluator.host.envs.gym_task import GymTask
from evaluator.host.errors import AgentFault, EnvironmentFault, MachineFault, RegistryFault, SandboxClosed
from evaluator.host.loading.submission_folder import SubmissionFolder, fetch_weights, stage
from evaluator.host.machine import machine_digest
from evaluator.host.process_owner import scratch_folder
from evaluator.host.progress import ReportProgress
from evaluator.host.sandboxes.channel import clean_text
from evaluator.host.sandboxes.sandbox import Sandbox, SandboxFactory, wait_for_start_slot
from evaluator.host.seeds.derived_seeds import agent_seeds, episode_seeds
from evaluator.host.seeds.season_secret import SeasonSecret, SecretError
from evaluator.host.solo.partial_record import PartialFolder, PartialRecord, evaluator_code
from evaluator.host.solo.referee import EpisodeSpec, SoloSetup, play_episodes
from evaluator.host.training_scripts.evaluate_script import ScriptSession, evaluate_script
from evaluator.host.training_scripts.script_env_server import ScriptTask
from evaluator.host.usage import MIB
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission import SubmissionKind
from evaluator.model.records.result import RESULT_SCHEMA, Result, WantedResult
from evaluator.model.records.script_record import CountedEpisodes
from evaluator.model.records.stored_record import Devices, SandboxKind, Tier
from evaluator.model.records.trace import MAX_UNPACKED_BYTES, EpisodeTrace, Trace, TraceLeaf, largest_trace
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import secret_hash


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest(MeasurementRequest):
    """What is to be evaluated, and for whom."""

    login: str
    login_id: int | None
    agent: str
    folder: SubmissionFolder
    gym_task: GymTask
    secret: SeasonSecret | None = None
    """In a sealed season: where the seeds come from."""
    gpus: Devices | None = None
    """The graphics cards that it is handed, where the leaderboard wants some."""
    owner_liable: bool = False
    """Whether its owner is liable for a registry or host of weights that fails: it failed in all tries but the last one."""

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
        """Where the seeds of a sealed season come from; None where they are open. Raises as `seeds` does."""
        sha256 = secret_hash(self.beacon)
        if sha256 is not None and (self.secret is None or self.secret.sha256 != sha256):
            raise SecretError("these episodes come from a secret that is not at hand; nothing is played without it")
        return self.secret if sha256 else None

    def seeds(self, first: int = 0) -> tuple[str, ...]:
        """The environment seeds of the episodes that count; `first` is the number of the first one among a script's.

        Raises:
            SecretError: they come from a secret that is missing.
        """
        task = self.gym_task.task
        if secret := self._season_secret():
            return secret.episode_seeds(self.season, task.id, task.counted)
        return episode_seeds(self.season, self.beacon, self.folder.digest, task.id, task.counted, first)

    def script_seed(self, episode: int, counts_from: int) -> str:
        """The environment seed of a script's episode; see `ScriptTask.seed_of`. Raises as `seeds` does."""
        name = self.folder.digest, self.gym_task.task.id
        if secret := self._season_secret():
            return secret.script_seed(self.season, *name, episode, counts_from)
        return episode_seeds(self.season, self.beacon, *name, 1, episode)[0]

    @property
    def allowed(self) -> Limits:
        """What the sandbox may use, with the memory that the agent's extras need."""
        return self.folder.submission.allowed(self.limits)

    def specs(self) -> tuple[EpisodeSpec, ...]:
        """The episodes to play."""
        name, secret = (self.folder.digest, self.gym_task.task.id, self.gym_task.task.counted), self._season_secret()
        own_seeds = secret.agent_seeds(self.season, *name) if secret else agent_seeds(self.season, self.beacon, *name)
        pairs = zip(self.seeds(), own_seeds, strict=True)
        return tuple(EpisodeSpec(index=i, seed=seed, agent_seed=own) for i, (seed, own) in enumerate(pairs))


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A result with its trace."""

    result: Result
    """The result; it has returns if the verdict is ok."""
    trace: bytes | None
    """The trace file, if the verdict is ok."""


def make_evaluation(request: EvaluationRequest, end: EvaluationEnd, now: datetime) -> Evaluation:
    """The result and the trace of an attempt that ended at `now`; raises EnvironmentFault where a return is not finite."""
    _refuse_infinite(end.counted.returns if end.counted else ())
    wanted = request.wanted()
    key = wanted.key()
    trace = _trace(key, end.episodes) if end.verdict is Verdict.OK else None
    content = trace.serialised() if trace else None
    unpacked = max(leaf.unpacked_bytes(trace.steps()) for leaf in trace.actions) if trace else 0
    for size, most in (
        (len(content or b""), largest_trace(sealed=request.secret is not None)),
        (unpacked, MAX_UNPACKED_BYTES),
    ):
        if size > most:
            return make_evaluation(request, _without_trace(end, size, most), now)
    counted = end.counted or CountedEpisodes(first=0, returns=(), lengths=())
    fields: dict[str, Any] = {
        "schema": RESULT_SCHEMA,
        "key": key,
        **request.record_fields(now, request.folder.submission.needs),
        "task": request.gym_task.task.id,
        **wanted.model_dump(),
        "login": request.login,
        "login_id": request.login_id,
        "agent": request.agent,
        "sandbox": end.sandbox,
        "verdict": end.verdict,
        "message": clean_text(end.message),
        "log_tail": clean_log(end.log_tail),
        "seeds": request.seeds(counted.first),
        "returns": counted.returns,
        "lengths": counted.lengths,
        "metrics": {"clipped_actions": float(end.clipped), **end.custom_metrics} if end.counted else {},
        "script": end.script,
        "limits": request.allowed,
        "cost": {
            "cpu_seconds": end.usage.cpu_seconds,
            "wall_seconds": round(end.wall_seconds, 3),
            "peak_memory_bytes": end.usage.peak_memory_bytes,
            "steps": sum(episode.length for episode in end.episodes),
        },
        "image_digest": end.image_digest,
        "trace_sha256": hashlib.sha256(content).hexdigest() if content else None,
        "first_attempt": end.first,
        "gpus": request.gpus,
        "continued_after": end.continuations or None,
        "unfetched": end.unfetched or None,
    }
    return Evaluation(result=Result.with_self_hash(fields), trace=content)


def _refuse_infinite(returns: Sequence[float]) -> None:
    for index, total in enumerate(returns):
        if not math.isfinite(total):
            raise EnvironmentFault(
                f"the return of counted episode {index} is {total}; rewards and their sum must be finite numbers"
            )


def _without_trace(end: EvaluationEnd, size: int, most: int) -> EvaluationEnd:
    """The end of an agent whose actions no file holds: its own, since it could add digits when its episodes went badly."""
    message = f"its recorded actions take {size / MIB:.1f} MiB of at most {most / MIB:.1f}; round them to fewer digits"
    return dataclasses.replace(end, verdict=Verdict.OUTPUT_LIMIT, message=message, episodes=(), counted=None, script=None)


def custom_metrics(request: EvaluationRequest, end: EvaluationEnd) -> dict[str, float]:
    """The host's own metrics of the counted episodes; a failure in one is ours."""
    counted = end.counted
    if counted is None or not any(metric.is_own for metric in request.gym_task.task.metrics):
        return {}
    played = [(episode.length, episode.actions) for episode in end.episodes[counted.first :]]
    return compute_custom_metrics(
        request.gym_task, to_episodes(request.gym_task, request.seeds(counted.first), counted.returns, played)
    )


def _trace(key: str, episodes: Sequence[PlayedEpisode]) -> Trace:
    leaves = zip(*(episode.actions for episode in episodes), strict=True)
    return Trace(
        schema=1,
        key=key,
        episodes=tuple(EpisodeTrace(length=e.length, checksum=e.checksum) for e in episodes),
        actions=tuple(TraceLeaf.of(np.concatenate(leaf)) for leaf in leaves),
    )


@dataclass(frozen=True, kw_only=True)
class _Callbacks:
    progress: ReportProgress
    before_first_observation: Callable[[], None]
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
    end = with_retry(
        lambda observed: _attempt(
            request, kind, opener, _Callbacks(progress=progress, before_first_observation=observed.set, partials=partials)
        )
    )

    def failed(message: str) -> Evaluation:
        ours = EvaluationEnd(verdict=Verdict.INTERNAL_ERROR, message=message, sandbox=kind, first=end.first)
        return make_evaluation(request, ours, now())

    # A failure while recording, such as of a return that is no number, must not stop other evaluations.
    return convert_internal_errors(lambda: make_evaluation(request, end, now()), failed)


def _attempt(request: EvaluationRequest, kind: SandboxKind, opener: SandboxFactory, callbacks: _Callbacks) -> EvaluationEnd:
    def in_sandbox() -> EvaluationEnd:
        with scratch_folder("agent") as name:
            try:
                return _in_sandbox(request, opener, Path(name), callbacks)
            except AgentFault as fault:  # such as an agent's image that cannot be fetched
                unfetched = isinstance(fault, RegistryFault)
                if request.owner_liable and unfetched:
                    words = f"it could not be started in any try: {fault}"
                    return EvaluationEnd(verdict=Verdict.TIMEOUT, message=words, sandbox=kind)
                end = EvaluationEnd(verdict=fault.verdict, message=str(fault), sandbox=kind, unfetched=unfetched)
                return dataclasses.replace(end, is_final=isinstance(fault, MachineFault))

    def failed(message: str) -> EvaluationEnd:
        return EvaluationEnd(verdict=Verdict.INTERNAL_ERROR, message=message, sandbox=kind)

    return convert_internal_errors(in_sandbox, failed)


def _in_sandbox(request: EvaluationRequest, opener: SandboxFactory, staged: Path, callbacks: _Callbacks) -> EvaluationEnd:
    is_official = request.tier is Tier.OFFICIAL
    try:
        asked_owner = fetch_weights(request.folder)
    except AgentFault as fault:
        if fault.asked_owner and is_official:
            wait_for_start_slot()  # What this machine plays next would else begin in a second that the owner chose.
        raise
    if asked_owner and is_official:
        wait_for_start_slot()
    stage(request.folder, staged)  # Only now: an agent reads in the times of its files when they were written.
    gpus = len(request.gpus.cards) if request.gpus else 0
    sandbox = opener(sandbox_spec(request.folder, staged, request.limits, gpus=gpus, waits_for_slot=is_official))
    try:
        played = _run_script if request.folder.submission.kind is SubmissionKind.SCRIPT else _play_episodes
        end = played(request, sandbox, callbacks)
    finally:
        sandbox.close()
    if end.verdict is not Verdict.OK:
        return end
    return dataclasses.replace(end, custom_metrics=custom_metrics(request, end))


def _play_episodes(request: EvaluationRequest, sandbox: Sandbox, callbacks: _Callbacks) -> EvaluationEnd:
    # In a sealed season nothing about an episode may lie on the disk.
    if callbacks.partials is None or request.secret is not None:
        return _play_rest(request, sandbox, callbacks, None)
    with callbacks.partials.opened(_belongs_to(request, sandbox), request.gym_task.task.counted) as partial:
        end = _play_rest(request, sandbox, callbacks, partial)
        if partial is None:
            return end
        if end.verdict is not Verdict.INTERNAL_ERROR:
            partial.discard()
        if not partial.continuations:
            return end
        usage = dataclasses.replace(end.usage, cpu_seconds=partial.cpu_seconds + (end.usage.cpu_seconds or 0.0))
        return dataclasses.replace(end, continuations=partial.continuations, usage=usage)


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
) -> EvaluationEnd:
    if partial:
        sandbox.charge(partial.cpu_seconds, partial.wall_seconds)

    def before_first_observation() -> None:
        if partial:
            _measure_from_now(sandbox, partial)
        sandbox.limit_share()
        callbacks.before_first_observation()

    run_setup = SoloSetup(
        gym_task=request.gym_task, specs=request.specs(), limits=request.allowed, progress=callbacks.progress,
        pin_sandbox=sandbox.pin, before_first_observation=before_first_observation,
        recorded=_recorded_episodes(request, partial), keep=partial.add if partial else lambda number, episode: None,
    )  # fmt: skip
    episodes: tuple[PlayedEpisode, ...] = ()
    try:
        episodes = play_episodes(run_setup, sandbox.stream())
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
    return EvaluationEnd(
        verdict=fault.verdict,
        message=str(fault),
        log_tail=with_traceback(sandbox.log_tail(), fault),
        episodes=episodes,
        counted=_all_counted(episodes) if episodes else None,
        clipped=sum(episode.clipped for episode in episodes),
        usage=usage,
        sandbox=sandbox.kind,
        image_digest=sandbox.image_digest,
    )


def _all_counted(episodes: Sequence[PlayedEpisode]) -> CountedEpisodes:
    returns, lengths = tuple(episode.total for episode in episodes), tuple(episode.length for episode in episodes)
    return CountedEpisodes(first=0, returns=returns, lengths=lengths)


def _run_script(request: EvaluationRequest, sandbox: Sandbox, callbacks: _Callbacks) -> EvaluationEnd:
    """Run a training script, which asks for episodes instead of being asked for actions."""
    rules = request.gym_task.task.script
    if rules is None:
        message = f"the task {request.gym_task.task.id} takes no scripts; name a task that has rules for them"
        return EvaluationEnd(
            verdict=Verdict.INVALID, message=message, sandbox=sandbox.kind, image_digest=sandbox.image_digest
        )

    def seed_of(episode: int, counts_from: int) -> str:
        sandbox.limit_share()
        return request.script_seed(episode, counts_from)

    session = ScriptSession(
        offer=ScriptTask(gym_task=request.gym_task, rules=rules, seed_of=seed_of),
        agent_seed=request.specs()[0].agent_seed,
        limits=request.allowed,
        progress=callbacks.progress,
        pin_sandbox=sandbox.pin,
        started=callbacks.before_first_observation,
    )
    return evaluate_script(session, sandbox)
