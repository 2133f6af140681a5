"""What became of an evaluation: a closed set of words, worst news included."""

import enum
from typing import assert_never


@enum.unique
class Verdict(enum.StrEnum):
    """How an evaluation ended. Only `OK` ranks; only `INTERNAL_ERROR` is ours."""

    OK = "ok"
    INVALID = "invalid"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    PROTOCOL_ERROR = "protocol_error"
    OUTPUT_LIMIT = "output_limit"
    INTERNAL_ERROR = "internal_error"


def in_plain_words(verdict: Verdict) -> str:
    """One sentence that a participant understands."""
    match verdict:
        case Verdict.OK:
            return "Every episode was played to its end."
        case Verdict.INVALID:
            return "The submission does not keep the contract."
        case Verdict.TIMEOUT:
            return "The agent used up its time."
        case Verdict.OUT_OF_MEMORY:
            return "The agent used more memory than the limit and was stopped."
        case Verdict.CRASHED:
            return "The agent's code stopped with an error."
        case Verdict.PROTOCOL_ERROR:
            return "The agent answered with something that is not an action of this task."
        case Verdict.OUTPUT_LIMIT:
            return "The agent printed more than the log may hold and was stopped."
        case Verdict.INTERNAL_ERROR:
            return "The evaluator failed, not the agent. It will be tried again."
        case _:
            assert_never(verdict)


def is_retryable(verdict: Verdict) -> bool:
    """Whether another preview of the same commit may end otherwise; what is recorded stays."""
    return verdict in (Verdict.TIMEOUT, Verdict.INTERNAL_ERROR)
