"""Attempts: when one is followed by another, and how a failure of ours or of the agent is told."""

import traceback
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TypeVar

from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.sandboxes.channel import clean_text
from evaluator.model.records.result import LOG_TAIL, FirstAttempt
from evaluator.model.records.verdict import Verdict

ATTEMPTS = 2
_Outcome = TypeVar("_Outcome")


def may_retry(verdict: Verdict, shown: Event) -> bool:
    """Whether to try again: if the start took too long, or failed because of us. `shown` is set before an observation is."""
    return not shown.is_set() and verdict in (Verdict.TIMEOUT, Verdict.INTERNAL_ERROR)


def first_attempt(verdict: Verdict, message: str, wall_seconds: float) -> FirstAttempt:
    """The record of an attempt that is followed by another."""
    fields = {"verdict": verdict, "message": clean_text(message), "wall_seconds": round(wall_seconds, 3)}
    return FirstAttempt.model_validate(fields)


def convert_internal_errors(attempt: Callable[[], _Outcome], failed: Callable[[str], _Outcome]) -> _Outcome:
    """The outcome of an attempt; after an error of ours, `failed` with its message."""
    try:
        return attempt()
    except AgentFault as fault:  # already a clear message, and not the agent's fault
        return failed(clean_text(str(fault)))
    except Exception as error:  # noqa: BLE001  (whatever fails here is our failure, and must not be the agent's)
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return failed(clean_text(f"{type(error).__name__} at {where}: {error}"))


def prefer_specific(complaint: AgentFault, post_mortem: AgentFault) -> AgentFault:
    """The sandbox's explanation of a crash, such as a limit, rather than the agent's own."""
    return complaint if post_mortem.verdict is Verdict.CRASHED else post_mortem


def with_traceback(log: str, fault: AgentFault | SandboxClosed | None) -> str:
    """A log that ends with the traceback that the agent's side reported."""
    trace = fault.trace if isinstance(fault, AgentFault) else ""
    return "\n".join(filter(None, (log.rstrip("\n"), trace))) if trace else log


def clean_log(text: str) -> str:
    """The end of a log, with control and bidirectional characters replaced."""
    return "\n".join(clean_text(line) for line in text[-4 * LOG_TAIL :].splitlines())[-LOG_TAIL:]
