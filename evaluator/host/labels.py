"""What a record says of itself, checked against the challenge and its own place, without replaying anything.

A hash over a file only shows that nobody changed it by accident: whoever changes a value makes the hash anew. So every
field that something else tells, too, is compared with that.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from evaluator.model.config.challenge import Challenge, Limits, Task
from evaluator.model.config.submission import EXTRAS, memory_mib
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import PREVIEW_BEACON, RANKING, Class, Result, is_place
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import secret_hash

Record = Result | Duel
# A machine's clock may be so far ahead of this one's.
AHEAD = timedelta(days=1)
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# The only count beside a host's own metrics.
CLIPPED = "clipped_actions"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where and when a record is looked at."""

    path: str
    """Where it lies below results/, without the ending."""
    now: datetime
    """The moment."""


def label_faults(record: Record, challenge: Challenge, place: Place) -> Iterator[str]:
    """What a record says of itself that cannot be so."""
    if not is_place(place.path, record.path(), record.verdict):
        yield f"it lies at {place.path}, and what it says belongs at {record.path()}"
    yield from _worth(record, challenge)
    yield from _amounts(record)
    try:
        at = datetime.fromisoformat(record.provenance.evaluated_at)
    except ValueError:
        yield f"{record.provenance.evaluated_at} is no moment"
    else:
        if at > place.now + AHEAD:
            yield f"it was evaluated at {record.provenance.evaluated_at}, which is yet to come"
    task = challenge.task(record.task)
    if isinstance(record, Result) and task and task.digest() == record.task_digest:
        yield from _metrics(record, task)


def limit_fault(record: Record, challenge: Challenge) -> str | None:
    """Whether the challenge gives the limits that a record names, with the memory that some extra brings."""
    given = {challenge.limits.memory_mib}
    if isinstance(record, Result):  # a duel names what the challenge allows, whatever its players' extras add
        given |= {memory_mib([name], challenge.limits.memory_mib) for name in EXTRAS}
    named: list[Limits] = [challenge.limits.model_copy(update={"memory_mib": memory}) for memory in sorted(given)]
    return None if record.limits in named else "the limits are not those that challenge.yml gives"


def _worth(record: Record, challenge: Challenge) -> Iterator[str]:
    """What an official record needs, and what no other one has."""
    if record.klass is Class.PREVIEW:
        yield "it is a preview, and none is ever recorded"
    if record.klass is not Class.OFFICIAL:
        yield from _unofficial(record)
        return
    is_public = bool(_COMMIT.fullmatch(record.beacon))
    if not is_public and secret_hash(record.beacon) is None:
        yield f"it is official, and its seeds come from '{record.beacon}', which is no commit and no sealed secret"
    if challenge.sealed_beacon and record.season == challenge.season and record.beacon != challenge.sealed_beacon:
        yield "its seeds do not come from the secret of this sealed season"
    if record.sandbox not in RANKING:
        yield f"it is official, and was held in the sandbox '{record.sandbox}', which does not rank"
    if not _COMMIT.fullmatch(record.provenance.commit or ""):
        yield "it is official, and names no commit that was evaluated"


def _unofficial(record: Record) -> Iterator[str]:
    if record.beacon != PREVIEW_BEACON:
        yield f"it is {record.klass}, and its seeds come from '{record.beacon}' instead of '{PREVIEW_BEACON}'"
    numbers = [side.login_id for side in (record.players if isinstance(record, Duel) else (record,))]
    if record.klass is Class.LOCAL and any(number is not None for number in numbers):
        yield "it is local, and names the number of an account"
    if record.beacon_verified is not False:
        yield f"it is {record.klass}, and says that GitHub signed its beacon"
    if record.klass is Class.LOCAL and (record.provenance.commit or record.provenance.run_url):
        yield "it is local, and names a commit or a workflow run"


def _amounts(record: Record) -> Iterator[str]:
    costs = [player.cost for player in record.players] if isinstance(record, Duel) else [record.cost]
    amounts = [amount for cost in costs for amount in cost.model_dump().values() if amount is not None]
    if any(amount < 0 for amount in amounts):
        yield "it cost less than nothing"
    if isinstance(record, Result) and record.verdict is Verdict.OK and record.sealed is None:
        taken = sum(record.script.lengths if record.script else record.lengths)
        if record.cost.steps != taken:
            yield f"it says {record.cost.steps} steps, and its episodes have {taken}"


def _metrics(result: Result, task: Task) -> Iterator[str]:
    """Names that no evaluation gives; the values of a host's own metrics are compared where it is replayed."""
    own = {name for metric in task.metrics if metric.is_own for name in (metric.kind, f"{metric.kind}:error")}
    if strange := sorted(result.metrics.keys() - own - {CLIPPED}):
        yield f"no evaluation gives the metric {strange[0]!r}"
    clipped = result.metrics.get(CLIPPED, 0.0)
    if clipped < 0 or clipped != int(clipped):
        yield f"{CLIPPED} is {clipped!r}, and counts actions"
