"""Makes the result and the trace from how an attempt ended."""

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from evaluator.host.attempts.attempt import EvaluationEnd, clean_log
from evaluator.host.envs.custom_metrics import compute_custom_metrics, to_episodes
from evaluator.host.envs.episode_recorder import PlayedEpisode
from evaluator.host.sandboxes.channel import clean_text
from evaluator.host.solo.evaluation_request import EvaluationRequest
from evaluator.host.usage import MIB
from evaluator.model.config.training_script import CountedEpisodes
from evaluator.model.records import result as results
from evaluator.model.records.result import Result
from evaluator.model.records.trace import MOST_UNPACKED, EpisodeTrace, Trace, TraceLeaf, largest_trace
from evaluator.model.records.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A result with its trace."""

    result: Result
    """The result; it has returns if the verdict is ok."""
    trace: bytes | None
    """The trace file, if the verdict is ok."""


def make_evaluation(request: EvaluationRequest, end: EvaluationEnd, now: datetime) -> Evaluation:
    """The result and the trace of an attempt that ended at the time `now`."""
    wanted = request.wanted()
    key = wanted.key()
    trace = _trace(key, end.episodes) if end.verdict is Verdict.OK else None
    content = trace.serialised() if trace else None
    unpacked = max(leaf.unpacked_bytes(trace.steps()) for leaf in trace.actions) if trace else 0
    for size, most in ((len(content or b""), largest_trace(sealed=request.secret is not None)), (unpacked, MOST_UNPACKED)):
        if size > most:
            return make_evaluation(request, _without_trace(end, size, most), now)
    counted = end.counted or CountedEpisodes(first=0, returns=(), lengths=())
    fields: dict[str, Any] = {
        "schema": results.RESULT_SCHEMA,
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
    }
    return Evaluation(result=Result.with_self_hash(fields), trace=content)


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
