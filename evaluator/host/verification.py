"""What verifying a result and verifying a duel share: the outcome, and when a record is stale."""

import enum
import math
from dataclasses import dataclass
from typing import Self

from evaluator.model.config.task import Task
from evaluator.model.measurement_version import MEASUREMENT_VERSION
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result


@enum.unique
class VerificationStatus(enum.StrEnum):
    """The outcome of a verification."""

    VERIFIED = "verified"
    REFUTED = "refuted"
    STALE = "stale"
    SEALED = "sealed"
    NOT_REPEATABLE = "not_repeatable"


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The verification of one file."""

    path: str
    status: VerificationStatus
    faults: tuple[str, ...] = ()
    """What is wrong, each in one sentence."""
    steps: int = 0
    """Replayed environment steps."""

    @classmethod
    def refuted(cls, path: str, *faults: str) -> Self:
        """Of a file that is wrong."""
        return cls(path=path, status=VerificationStatus.REFUTED, faults=faults)


def is_same_number(one: float, other: float) -> bool:
    """Whether two numbers are one, to the last bit: a file tells 0 from -0, and its hash does not."""
    return one == other and math.copysign(1.0, one) == math.copysign(1.0, other)


def is_stale(record: Result | Duel, task: Task | None) -> str | None:
    """Why a record cannot be verified any more; None where it can. `task`: the challenge's, if it still has it."""
    if record.protocol > MEASUREMENT_VERSION:
        return f"recorded under other rules: measurement version {record.protocol} is newer than this evaluator; update it"
    if task is None or task.digest() != record.task_digest:
        return "recorded under other rules: the task's settings, or the host's code that it names, have changed since"
    return None
