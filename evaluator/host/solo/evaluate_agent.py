"""One evaluation from start to end: sandbox, referee, result and trace."""

import dataclasses
import platform
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from evaluator.host.deterministic import pinned_environment
from evaluator.host.digests.runtime_digest import versions, with_extras
from evaluator.host.envs.custom_metrics import compute_custom_metrics, to_episodes
from evaluator.host.envs.gym_task import GymTask
from evaluator.host.envs.recorder import PlayedEpisode
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.loading.submission_folder import SubmissionFolder, stage
from evaluator.host.sandboxes.channel import clean_text
from evaluator.host.sandboxes.sandbox import Sandbox, SandboxFactory, SandboxSpec
from evaluator.host.seeds.derive import agent_seeds, episode_seeds
from evaluator.host.seeds.season_secret import SeasonSecret, SecretError
from evaluator.host.solo.episode_batch import EpisodeSpec
from evaluator.host.solo.referee import SoloOutcome, SoloRun, play_episodes
from evaluator.host.training_scripts.episode_recorder import ScriptEpisode
from evaluator.host.training_scripts.evaluate_script import ScriptPerformance, evaluate_script
from evaluator.host.training_scripts.remote_envs import ScriptTask
from evaluator.host.training_scripts.server import ScriptSession
from evaluator.host.usage import Usage
from evaluator.model.config.challenge import Limits
from evaluator.model.config.submission import SubmissionKind
from evaluator.model.records import result as results
from evaluator.model.records.result import (
    LOG_TAIL,
    Cost,
    FirstAttempt,
    Provenance,
    Result,
    SandboxKind,
    Tier,
    WantedResult,
    sealed,
)
from evaluator.model.records.trace import EpisodeTrace, Trace, TraceLeaf
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import secret_hash

ATTEMPTS = 2


@dataclass
class ProgressCallback:
    """Whether an agent was shown an observation in this attempt."""

    yet: bool = False
    """Set before the first one is sent; it stays."""

    def mark(self) -> None:
        """An observation is about to be sent."""
        self.yet = True


def may_retry(verdict: Verdict, shown: ProgressCallback) -> bool:
    """Whether an attempt that ended so is followed by another: a start that took too long, or that we failed at."""
    return not shown.yet and verdict in (Verdict.TIMEOUT, Verdict.INTERNAL_ERROR)


def first_attempt(verdict: Verdict, message: str, wall_seconds: float) -> FirstAttempt:
    """What is recorded of an attempt that is followed by another."""
    fields = {"verdict": verdict, "message": clean_text(message), "wall_seconds": round(wall_seconds, 3)}
    return FirstAttempt.model_validate(fields)


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest:
    """What is to be evaluated, for whom."""

    login: str
    """The owner."""
    login_id: int | None
    """GitHub's number for him."""
    agent: str
    """The agent's folder."""
    folder: SubmissionFolder
    """The agent."""
    world: GymTask
    """The task."""
    limits: Limits
    """What the sandbox may use."""
    season: str
    """The season it counts for."""
    beacon: str
    """Where the seeds come from."""
    beacon_verified: bool
    """Whether GitHub signed it."""
    tier: Tier
    """official, preview or local."""
    runtime_digest: str
    """What measures."""
    commit: str | None = None
    """The board's commit."""
    run_url: str | None = None
    """The workflow run."""
    secret: SeasonSecret | None = None
    """In a sealed season: where the seeds come from."""

    def wanted(self) -> WantedResult:
        """What the evaluation is a function of."""
        return WantedResult(
            submission_digest=self.folder.digest,
            task_digest=self.world.task.digest(),
            runtime_digest=with_extras(self.runtime_digest, self.folder.submission.needs),
            season=self.season,
            beacon=self.beacon,
        )

    def _seed_arguments(self) -> tuple[str, str, str, str, int]:
        task = self.world.task
        return self.season, self.beacon, self.folder.digest, task.id, task.counted

    def _episodes(self, count: int, first: int) -> tuple[str, ...]:
        """Seeds of episodes.

        Raises:
            SecretError: they come from a secret that is not here.
        """
        if (sha256 := secret_hash(self.beacon)) is None:
            return episode_seeds(*self._seed_arguments()[:4], count, first)
        return _matching(self.secret, sha256).episode_seeds(self.season, self.world.task.id, count, first)

    def seeds(self, first: int = 0) -> tuple[str, ...]:
        """The environment seed of each episode that counts, beginning with that one."""
        return self._episodes(self.world.task.counted, first)

    def seed_of(self, index: int) -> str:
        """The environment seed of one episode of a script, which may play any number of them."""
        return self._episodes(1, index)[0]

    def _agent_seeds(self) -> tuple[int, ...]:
        season, _, digest, task_id, count = self._seed_arguments()
        if (sha256 := secret_hash(self.beacon)) is None:
            return agent_seeds(*self._seed_arguments())
        return _matching(self.secret, sha256).agent_seeds(season, digest, task_id, count)

    @property
    def allowed(self) -> Limits:
        """What the sandbox may use, with the memory that the agent's extras need."""
        return self.folder.submission.allowed(self.limits)

    @property
    def extent(self) -> int:
        """What progress counts up to: episodes, or a script's steps."""
        task = self.world.task
        return task.script.steps if task.script else task.episodes

    def tickets(self) -> tuple[EpisodeSpec, ...]:
        """The episodes to play."""
        pairs = zip(self.seeds(), self._agent_seeds(), strict=True)
        return tuple(EpisodeSpec(index=i, seed=seed, agent_seed=own) for i, (seed, own) in enumerate(pairs))


def _matching(secret: SeasonSecret | None, sha256: str) -> SeasonSecret:
    """The secret that a beacon names: without it, its episodes would be ones that anybody can derive."""
    if secret is None or secret.sha256 != sha256:
        raise SecretError("these episodes come from a secret that is not at hand; nothing is played without it")
    return secret


_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What came of an order."""

    result: Result
    """Verdict, and returns if it is ok."""
    trace: bytes | None
    """The trace file, if it is ok."""


@dataclass(frozen=True, kw_only=True)
class _EvaluationRun:
    """One attempt, before it is written down."""

    verdict: Verdict
    message: str = ""
    log_tail: str = ""
    tally: SoloOutcome | None = None
    performance: ScriptPerformance | None = None
    own: dict[str, float] = dataclasses.field(default_factory=dict)
    usage: Usage = dataclasses.field(default_factory=Usage)
    wall_seconds: float = 0.0
    first: FirstAttempt | None = None
    sandbox: SandboxKind
    image_digest: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Watched:
    """Who is told how far an attempt is."""

    progress: Callable[[int], None]
    shown: Callable[[], None]


def evaluate_agent(
    order: EvaluationRequest,
    kind: SandboxKind,
    opener: SandboxFactory,
    now: Callable[[], datetime],
    progress: Callable[[int], None],
) -> Evaluation:
    """Play the agent on the task; a start that fails is tried once more, and nothing else: see `attempts`."""
    first: FirstAttempt | None = None
    for _ in range(ATTEMPTS):
        shown = ProgressCallback()
        run = _attempt(order, kind, opener, _Watched(progress=progress, shown=shown.mark))
        if first is not None or not may_retry(run.verdict, shown):
            break
        first = first_attempt(run.verdict, run.message, run.wall_seconds)
    run = dataclasses.replace(run, first=first)

    def failed(message: str) -> Evaluation:
        return _write_down(
            order, _EvaluationRun(verdict=Verdict.INTERNAL_ERROR, message=message, sandbox=kind, first=first), now()
        )

    # What cannot be recorded, such as a return that is no number, must not take other agents' results with it.
    return without_our_errors(lambda: _write_down(order, run, now()), failed)


def _attempt(order: EvaluationRequest, kind: SandboxKind, opener: SandboxFactory, watched: _Watched) -> _EvaluationRun:
    def in_sandbox() -> _EvaluationRun:
        with tempfile.TemporaryDirectory(prefix="pullrank-agent-") as name:
            try:
                return _in_sandbox(order, opener, Path(name), watched)
            except AgentFault as fault:  # an agent's image that cannot be had
                return _EvaluationRun(verdict=fault.verdict, message=str(fault), sandbox=kind)

    def failed(message: str) -> _EvaluationRun:
        return _EvaluationRun(verdict=Verdict.INTERNAL_ERROR, message=message, sandbox=kind)

    begun = time.monotonic()
    run = without_our_errors(in_sandbox, failed)
    return dataclasses.replace(run, wall_seconds=time.monotonic() - begun)


def without_our_errors(attempt: Callable[[], _Outcome], failed: Callable[[str], _Outcome]) -> _Outcome:
    """What an attempt gives; where anything goes wrong in it, what `failed` makes of the reason."""
    try:
        return attempt()
    except AgentFault as fault:  # already told in words, and not the agent's
        return failed(clean_text(str(fault)))
    except Exception as error:  # noqa: BLE001  (the one place: whatever fails here is ours, and must not be the agent's)
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return failed(clean_text(f"{type(error).__name__} at {where}: {error}"))


def _in_sandbox(order: EvaluationRequest, opener: SandboxFactory, room: Path, watched: _Watched) -> _EvaluationRun:
    stage(order.folder, room)
    folder = order.folder
    cell = SandboxSpec(
        folder=room,
        entry=folder.submission.source,
        limits=order.allowed,
        environment=pinned_environment(),
        adapter=folder.submission.adapter,
        extras=folder.submission.needs,
        loopback=folder.submission.connects_to_itself,
        image=folder.image,
    )
    sandbox = opener(cell)
    try:
        played = _performed if order.folder.submission.kind is SubmissionKind.SCRIPT else _played
        run = played(order, sandbox, watched)
    finally:
        sandbox.close()
    return dataclasses.replace(run, own=_own(order, run)) if run.verdict is Verdict.OK else run


def _played(order: EvaluationRequest, sandbox: Sandbox, watched: _Watched) -> _EvaluationRun:
    match = SoloRun(
        world=order.world, tickets=order.tickets(), limits=order.allowed, progress=watched.progress,
        pin_sandbox=sandbox.pin, shown=watched.shown,
    )  # fmt: skip
    tally: SoloOutcome | None = None
    try:
        tally = play_episodes(match, sandbox.stream())
        fault = AgentFault(Verdict.OK, "")
    except SandboxClosed:
        fault = sandbox.post_mortem()
    except AgentFault as caught:
        fault = caught
    usage = sandbox.usage()
    if fault.verdict is Verdict.CRASHED:
        fault = _worse(fault, sandbox.post_mortem())
    sandbox.end()
    return _EvaluationRun(
        verdict=fault.verdict,
        message=str(fault),
        log_tail=sandbox.log_tail(),
        tally=tally,
        usage=usage,
        sandbox=sandbox.kind,
        image_digest=sandbox.image_digest,
    )


def _performed(order: EvaluationRequest, sandbox: Sandbox, watched: _Watched) -> _EvaluationRun:
    """A script, which asks for episodes instead of being asked for actions."""
    rules = order.world.task.script
    if rules is None:
        message = f"the task {order.world.task.id} takes no scripts; name a task that has rules for them"
        return _EvaluationRun(
            verdict=Verdict.INVALID, message=message, sandbox=sandbox.kind, image_digest=sandbox.image_digest
        )

    def seed_of(episode: int) -> str:
        watched.shown()
        return order.seed_of(episode)

    service = ScriptSession(
        offer=ScriptTask(world=order.world, rules=rules, seed_of=seed_of),
        agent_seed=order.tickets()[0].agent_seed,
        limits=order.allowed,
        progress=watched.progress,
        pin_sandbox=sandbox.pin,
    )
    done = evaluate_script(service, sandbox)
    return _EvaluationRun(
        verdict=done.verdict, message=done.message, log_tail=done.log_tail, performance=done, usage=done.usage,
        sandbox=sandbox.kind, image_digest=sandbox.image_digest,
    )  # fmt: skip


def _worse(complaint: AgentFault, post_mortem: AgentFault) -> AgentFault:
    """A crash that a limit of the sandbox explains is that limit's."""
    return complaint if post_mortem.verdict is Verdict.CRASHED else post_mortem


def _write_down(order: EvaluationRequest, run: _EvaluationRun, now: datetime) -> Evaluation:
    wanted = order.wanted()
    key = wanted.key()
    trace = _trace(key, _episodes(run)) if run.verdict is Verdict.OK else None
    fields: dict[str, Any] = {
        "schema": results.SCHEMA,
        "key": key,
        "class": order.tier,
        "task": order.world.task.id,
        **wanted.model_dump(),
        "login": order.login,
        "login_id": order.login_id,
        "agent": order.agent,
        "beacon_verified": order.beacon_verified,
        "sandbox": run.sandbox,
        "verdict": run.verdict,
        "message": clean_text(run.message),
        "log_tail": clean_log(run.log_tail),
        "seeds": order.seeds(),
        **_measured(order, run),
        "limits": order.allowed,
        "cost": _cost(run),
        "versions": versions(order.folder.submission.needs),
        "image_digest": run.image_digest,
        "platform": f"{platform.system()} {platform.machine()}",
        "provenance": Provenance(
            commit=order.commit, run_url=order.run_url, evaluated_at=now.strftime("%Y-%m-%dT%H:%M:%SZ")
        ),
        "trace_sha256": trace.sha256() if trace else None,
        "first_attempt": run.first,
    }
    return Evaluation(result=sealed(fields), trace=trace.serialised() if trace else None)


def clean_log(text: str) -> str:
    """The end of a log, with control and bidirectional characters replaced."""
    return "\n".join(clean_text(line) for line in text[-4 * LOG_TAIL :].splitlines())[-LOG_TAIL:]


def _episodes(run: _EvaluationRun) -> tuple[PlayedEpisode | ScriptEpisode, ...]:
    """Every episode that was played, for the trace."""
    return run.performance.episodes if run.performance else run.tally.episodes if run.tally else ()


def _measured(order: EvaluationRequest, run: _EvaluationRun) -> dict[str, Any]:
    if done := run.performance:
        script = {"script": done.record} if done.record else {}
        if done.counted is None:
            return script
        return {
            **script,
            "seeds": order.seeds(done.counted.first),
            "returns": done.counted.returns,
            "lengths": done.counted.lengths,
            "metrics": {"clipped_actions": float(done.clipped), **run.own},
        }
    tally = run.tally
    if tally is None:
        return {}
    return {
        "returns": [episode.total for episode in tally.episodes],
        "lengths": [episode.length for episode in tally.episodes],
        "metrics": {"clipped_actions": float(tally.clipped), **run.own},
    }


def _own(order: EvaluationRequest, run: _EvaluationRun) -> dict[str, float]:
    """What the host's own metrics say of the episodes that count and were played; where one fails, that is ours."""
    if not any(metric.is_own for metric in order.world.task.metrics):
        return {}
    first = run.performance.counted.first if run.performance and run.performance.counted else 0
    measured = _measured(order, run)
    played = [(episode.length, episode.actions) for episode in _episodes(run)[first:]]
    return compute_custom_metrics(order.world, to_episodes(order.world, order.seeds(first), measured["returns"], played))


def _cost(run: _EvaluationRun) -> Cost:
    steps = sum(episode.length for episode in _episodes(run))
    return Cost(
        cpu_seconds=run.usage.cpu_seconds,
        wall_seconds=round(run.wall_seconds, 3),
        peak_memory_bytes=run.usage.peak_memory_bytes,
        steps=steps,
    )


def _trace(key: str, episodes: Sequence[PlayedEpisode | ScriptEpisode]) -> Trace:
    leaves = zip(*(episode.actions for episode in episodes), strict=True)
    return Trace(
        schema=1,
        key=key,
        episodes=tuple(EpisodeTrace(length=e.length, checksum=e.checksum) for e in episodes),
        actions=tuple(TraceLeaf.of(np.concatenate(leaf)) for leaf in leaves),
    )
