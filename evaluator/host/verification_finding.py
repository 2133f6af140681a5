"""The finding of a verification, for results and duels alike."""

import enum
from dataclasses import dataclass


@enum.unique
class VerificationStatus(enum.StrEnum):
    """The outcome of a verification."""

    VERIFIED = "verified"
    REFUTED = "refuted"
    STALE = "stale"
    SEALED = "sealed"
    NOT_REPEATABLE = "not_repeatable"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The verification of one file."""

    path: str
    standing: VerificationStatus
    faults: tuple[str, ...] = ()
    """What is wrong, each in one sentence."""
    steps: int = 0
    """Replayed environment steps."""
