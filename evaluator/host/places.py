"""One remote environment of a script, and its step."""

from typing import Any

import gymnasium

from evaluator.host.errors import FaultError
from evaluator.host.ledger import Episode
from evaluator.model.records.verdict import Verdict

# Steps of an episode where the task has no time limit.
NEVER = 1 << 62


class Place:
    """One remote environment; nothing is made before its first reset."""

    __slots__ = ("environment", "limit", "live", "step")

    def __init__(self) -> None:
        self.environment: gymnasium.Env[Any, Any] | None = None
        self.step: Any = None
        self.live: Episode | None = None
        self.limit = 0


def stepped(place: Place, action: Any) -> tuple[Any, float, bool, bool]:
    """One environment's step: observation, reward, terminated, truncated."""
    if place.live is None:
        raise FaultError(Verdict.PROTOCOL_ERROR, "a step on an environment whose episode has ended, or not begun")
    observation, reward, terminated, truncated, _ = place.step(action)
    place.limit -= 1
    return observation, float(reward), bool(terminated), bool(truncated) or not place.limit


def rows_of(raw: bytes, count: int) -> list[bytes]:
    """The bytes of each of `count` values that lie one after the other."""
    size = len(raw) // count
    if not size:
        return [b""] * count
    return [raw[begin : begin + size] for begin in range(0, len(raw), size)]
