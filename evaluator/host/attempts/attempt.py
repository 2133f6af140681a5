"""Attempts: when one is followed by another, and how a failure of ours or of the agent is told."""

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import TypeVar

from evaluator.host.envs.episode_recorder import PlayedEpisode
from evaluator.host.errors import AgentFault, EnvironmentFault, SandboxClosed
from evaluator.host.sandboxes.channel import clean_text
from evaluator.host.usage import Usage
from evaluator.model.records.script_record import CountedEpisodes, ScriptRecord
from evaluator.model.records.stored_record import LOG_TAIL_CHARACTERS, FirstAttempt, SandboxKind
from evaluator.model.records.verdict import Verdict
from evaluator.model.validation_messages import error_in_words

# At most, of one evaluation or duel.
MAX_ATTEMPTS = 2
_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True, kw_only=True)
class AttemptEnd:
    """How an attempt to measure something ended."""

    verdict: Verdict
    message: str = ""
    wall_seconds: float = 0.0
    is_final: bool = False
    """Whether another attempt would end the same."""
    first: FirstAttempt | None = None
    """The attempt before it, where there was one."""


_AttemptEnd = TypeVar("_AttemptEnd", bound=AttemptEnd)


@dataclass(frozen=True, kw_only=True)
class EvaluationEnd(AttemptEnd):
    """How an attempt to evaluate an agent ended, from which the result is made."""

    log_tail: str = ""
    episodes: Sequence[PlayedEpisode] = ()
    """All that were played, if it is ok."""
    counted: CountedEpisodes | None = None
    """Those that make the score, if it is ok."""
    clipped: int = 0
    """Numbers of float actions that were clipped to the space."""
    script: ScriptRecord | None = None
    """Of a training script: all its episodes, if it is ok; only its claim, where that is listed as self-reported."""
    custom_metrics: dict[str, float] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    sandbox: SandboxKind
    image_digest: str | None = None
    continuations: tuple[int, ...] = ()
    """Episodes that were recorded each time an interrupted evaluation was continued."""
    unfetched: bool = False
    """Whether its owner's registry or web host failed."""


def with_retry(attempt: Callable[[Event], _AttemptEnd]) -> _AttemptEnd:
    """An attempt, and another one if its start took too long, or failed because of us.

    `attempt` sets the event before an observation is sent, or a script's own code begins; what happens after that is final.
    """
    first: FirstAttempt | None = None
    for left in reversed(range(MAX_ATTEMPTS)):
        observed, begun = Event(), time.monotonic()
        end = attempt(observed)
        end = replace(end, wall_seconds=time.monotonic() - begun, first=first)
        may_retry = end.verdict in (Verdict.TIMEOUT, Verdict.INTERNAL_ERROR)
        if not left or end.is_final or observed.is_set() or not may_retry:
            break
        fields = {
            "verdict": end.verdict, "message": clean_text(end.message),
            "wall_seconds": round(end.wall_seconds, 3),
        }  # fmt: skip
        first = FirstAttempt.model_validate(fields)
    return end


def convert_internal_errors(attempt: Callable[[], _Outcome], failed: Callable[[str], _Outcome]) -> _Outcome:
    """The outcome of an attempt; after an error of ours, `failed` with its message."""
    try:
        return attempt()
    except AgentFault as fault:  # already a clear message, and not the agent's fault
        return failed(clean_text(str(fault)))
    except EnvironmentFault as fault:  # likewise
        return failed(clean_text(str(fault)))
    except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever fails here is our failure, and must not be the agent's)
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        # A host's environment may end the program, and with it everybody else's evaluations.
        words = (
            "it ends the program; remove the call of exit" if isinstance(error, SystemExit) else error_in_words(error, 1000)
        )
        return failed(clean_text(f"{type(error).__name__} at {where}: {words}"))


def prefer_specific(complaint: AgentFault, post_mortem: AgentFault) -> AgentFault:
    """The sandbox's explanation of a crash, such as a limit, rather than the agent's own."""
    return complaint if post_mortem.verdict is Verdict.CRASHED else post_mortem


def with_traceback(log: str, fault: AgentFault | SandboxClosed | None) -> str:
    """A log that ends with the traceback that the agent's side reported."""
    trace = fault.trace if isinstance(fault, AgentFault) else ""
    return "\n".join(filter(None, (log.rstrip("\n"), trace))) if trace else log


def clean_log(text: str) -> str:
    """The end of a log, with control and bidirectional characters replaced."""
    return "\n".join(clean_text(line) for line in text[-4 * LOG_TAIL_CHARACTERS :].splitlines())[-LOG_TAIL_CHARACTERS:]
