"""The verdicts of an evaluation, with their words."""

import enum
from typing import Self


@enum.unique
class Verdict(enum.StrEnum):
    """How an evaluation ended: the name in records, a sentence for participants, and whether it is worth another preview.

    Only `OK` ranks; only `INTERNAL_ERROR` is the evaluator's fault. A recorded verdict stays, also a retryable one: only
    another preview of the same commit may end otherwise.
    """

    plain_words: str
    is_retryable: bool

    def __new__(cls, value: str, plain_words: str = "", is_retryable: bool = False) -> Self:
        """A member, as the lines below define it."""
        verdict = str.__new__(cls, value)
        verdict._value_ = value
        verdict.plain_words = plain_words
        verdict.is_retryable = is_retryable
        return verdict

    OK = "ok", "Every episode was played to its end."
    INVALID = "invalid", "The submission does not keep the contract."
    TIMEOUT = "timeout", "The agent used up its time.", True
    OUT_OF_MEMORY = "out_of_memory", "The agent used more memory than the limit and was stopped."
    CRASHED = "crashed", "The agent's code stopped with an error."
    PROTOCOL_ERROR = "protocol_error", "The agent answered with something that is not an action of this task."
    OUTPUT_LIMIT = "output_limit", "The agent printed more than the log may hold and was stopped."
    INTERNAL_ERROR = "internal_error", "The evaluator failed, not the agent. It will be tried again.", True
