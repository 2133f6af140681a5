"""Makes the result and the trace from how an attempt ended."""

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from evaluator.host.attempts.attempt import clean_log
from evaluator.host.envs.custom_metrics import compute_custom_metrics, to_episodes
from evaluator.host.envs.episode_recorder import PlayedEpisode
from evaluator.host.sandboxes.channel import clean_text
from evaluator.host.solo.evaluation_request import EvaluationRequest
from evaluator.host.solo.referee import SoloOutcome
from evaluator.host.training_scripts.evaluate_script import ScriptPerformance
from evaluator.host.usage import MIB, Usage
from evaluator.model.records import result as results
from evaluator.model.records.result import Cost, FirstAttempt, Result, SandboxKind, with_self_hash
from evaluator.model.records.trace import EpisodeTrace, Trace, TraceLeaf, largest_trace
from evaluator.model.records.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A result with its trace."""

    result: Result
    """The result; it has returns if the verdict is ok."""
    trace: bytes | None
    """The trace file, if the verdict is ok."""


@dataclass(frozen=True, kw_only=True)
class AttemptOutcome:
    """The outcome of an attempt, from which the result is made."""

    verdict: Verdict
    message: str = ""
    log_tail: str = ""
    solo: SoloOutcome | None = None
    """The episodes of a policy, if all were played."""
    performance: ScriptPerformance | None = None
    """What a training script did."""
    custom_metrics: dict[str, float] = dataclasses.field(default_factory=dict)
    usage: Usage = dataclasses.field(default_factory=Usage)
    wall_seconds: float = 0.0
    is_final: bool = False
    """Whether another attempt would end the same."""
    first: FirstAttempt | None = None
    sandbox: SandboxKind
    image_digest: str | None = None
    continuations: tuple[int, ...] = ()
    """Episodes that were recorded each time an interrupted evaluation was continued."""


def make_evaluation(request: EvaluationRequest, attempt: AttemptOutcome, now: datetime) -> Evaluation:
    """The result and the trace of an attempt that ended at the time `now`."""
    wanted = request.wanted()
    key = wanted.key()
    trace = _trace(key, _episodes(attempt)) if attempt.verdict is Verdict.OK else None
    content = trace.serialised() if trace else None
    if content and len(content) > (most := largest_trace(sealed=request.secret is not None)):
        return make_evaluation(request, _without_trace(attempt, len(content), most), now)
    fields: dict[str, Any] = {
        "schema": results.RESULT_SCHEMA,
        "key": key,
        **request.record_fields(now, request.folder.submission.needs),
        "task": request.gym_task.task.id,
        **wanted.model_dump(),
        "login": request.login,
        "login_id": request.login_id,
        "agent": request.agent,
        "sandbox": attempt.sandbox,
        "verdict": attempt.verdict,
        "message": clean_text(attempt.message),
        "log_tail": clean_log(attempt.log_tail),
        "seeds": request.seeds(),
        **_measurements(request, attempt),
        "limits": request.allowed,
        "cost": _cost(attempt),
        "image_digest": attempt.image_digest,
        "trace_sha256": hashlib.sha256(content).hexdigest() if content else None,
        "first_attempt": attempt.first,
        "gpus": request.gpus,
        "continued_after": attempt.continuations or None,
    }
    return Evaluation(result=with_self_hash(fields), trace=content)


def _without_trace(attempt: AttemptOutcome, size: int, most: int) -> AttemptOutcome:
    """The end of an agent whose actions no file holds: its own, since it could add digits when its episodes went badly."""
    message = f"its recorded actions take {size / MIB:.1f} MiB of at most {most / MIB:.1f}; round them to fewer digits"
    return dataclasses.replace(
        attempt, verdict=Verdict.OUTPUT_LIMIT, message=message, solo=None, performance=None, custom_metrics={}
    )


def _episodes(attempt: AttemptOutcome) -> tuple[PlayedEpisode, ...]:
    """Every played episode, for the trace."""
    return attempt.performance.episodes if attempt.performance else attempt.solo.episodes if attempt.solo else ()


def _measurements(request: EvaluationRequest, attempt: AttemptOutcome) -> dict[str, Any]:
    if done := attempt.performance:
        script = {"script": done.record} if done.record else {}
        if done.counted is None:
            return script
        return {
            **script,
            "seeds": request.seeds(done.counted.first),
            "returns": done.counted.returns,
            "lengths": done.counted.lengths,
            "metrics": {"clipped_actions": float(done.clipped), **attempt.custom_metrics},
        }
    outcome = attempt.solo
    if outcome is None:
        return {}
    return {
        "returns": [episode.total for episode in outcome.episodes],
        "lengths": [episode.length for episode in outcome.episodes],
        "metrics": {"clipped_actions": float(outcome.clipped), **attempt.custom_metrics},
    }


def custom_metrics(request: EvaluationRequest, attempt: AttemptOutcome) -> dict[str, float]:
    """The host's own metrics of the counted episodes; a failure in one is ours."""
    if not any(metric.is_own for metric in request.gym_task.task.metrics):
        return {}
    first = attempt.performance.counted.first if attempt.performance and attempt.performance.counted else 0
    measurements = _measurements(request, attempt)
    played = [(episode.length, episode.actions) for episode in _episodes(attempt)[first:]]
    return compute_custom_metrics(
        request.gym_task, to_episodes(request.gym_task, request.seeds(first), measurements["returns"], played)
    )


def _cost(attempt: AttemptOutcome) -> Cost:
    steps = sum(episode.length for episode in _episodes(attempt))
    return Cost(
        cpu_seconds=attempt.usage.cpu_seconds,
        wall_seconds=round(attempt.wall_seconds, 3),
        peak_memory_bytes=attempt.usage.peak_memory_bytes,
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
