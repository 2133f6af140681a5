"""The verdicts of an evaluation, with their words."""

import enum
from typing import Self


@enum.unique
class Verdict(enum.StrEnum):
    """How an evaluation ended: the name in records, words for participants, and whether it is worth another preview.

    Only `OK` ranks; only `INTERNAL_ERROR` is the evaluator's fault. A recorded verdict stays, also a retryable one: only
    another preview of the same commit may end otherwise.
    """

    plain_words: str
    """What happened, in a sentence."""
    advice: str
    """What the agent's author should do next: a sentence or two, with commands in backticks."""
    is_retryable: bool

    def __new__(cls, value: str, plain_words: str = "", advice: str = "", is_retryable: bool = False) -> Self:
        """A member, as the lines below define it."""
        verdict = str.__new__(cls, value)
        verdict._value_ = value
        verdict.plain_words = plain_words
        verdict.advice = advice
        verdict.is_retryable = is_retryable
        return verdict

    OK = "ok", "Every episode was played to its end.", "Nothing. It can be merged."
    INVALID = (
        "invalid",
        "The submission does not keep the contract.",
        "Fix what the message names. `pullrank evaluate` shows it locally, `pullrank check` what needs no run.",
    )
    TIMEOUT = (
        "timeout",
        "The agent used up its time.",
        "Do less at the start or in each step: load less, compute once, or play many episodes with `act_batch`.",
        True,
    )
    OUT_OF_MEMORY = (
        "out_of_memory",
        "The agent used more memory than the limit and was stopped.",
        "Load smaller weights, or keep less history.",
    )
    CRASHED = (
        "crashed",
        "The agent's code stopped with an error.",
        "Read the message and the end of the log, then run the agent locally with `pullrank evaluate`.",
    )
    PROTOCOL_ERROR = (
        "protocol_error",
        "The agent answered with something that is not an action of this task.",
        "Compare the type, the shape and the range of the action with the task’s space, and look for `nan`.",
    )
    OUTPUT_LIMIT = (
        "output_limit",
        "The agent printed more than its log may hold, or played more than a record holds.",
        "Do what the message names: print less in the whole task, end episodes earlier, or round the actions.",
    )
    INTERNAL_ERROR = (
        "internal_error",
        "The evaluator failed, not the agent. It will be tried again.",
        "Nothing, unless a host of your own files did not answer. Otherwise it is our fault and no try of yours.",
        True,
    )
