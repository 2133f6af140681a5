"""Results as the store would hold them for an entry."""

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.limits import Limits
from evaluator.model.records.result import Result, WantedResult
from evaluator.model.records.stored_record import Cost, Provenance, SandboxKind, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import Entry
from leaderboard.planning.missing_work import MeasurementContext


def recorded(
    challenge: Challenge, entry: Entry, task_id: str, where: MeasurementContext, verdict: Verdict = Verdict.OK
) -> Result:
    """A result of an entry on a task."""
    task = challenge.task(task_id)
    assert task is not None
    wanted = WantedResult(
        submission_digest=entry.digest, task_digest=task.digest(), runtime_digest=where.runtime_digest,
        season=challenge.season, beacon=where.beacon,
    )  # fmt: skip
    measured = {"seeds": ["0" * 32], "returns": [1.0], "lengths": [1]} if verdict is Verdict.OK else {}
    return Result.with_self_hash(
        {
            "key": wanted.key(), "class": Tier.LOCAL, "task": task_id, "login": entry.login, "agent": entry.agent,
            **wanted.model_dump(), "sandbox": SandboxKind.DOCKER, "verdict": verdict, "limits": Limits(), "cost": Cost(),
            "provenance": Provenance(evaluated_at="2026-01-01T00:00:00Z"), **measured,
        }
    )  # fmt: skip
