"""Recording of a script's episodes with little memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluator import wire
from evaluator.host.envs.recorder import EpisodeChecksum

Array = npt.NDArray[Any]
# Buffered steps become hashes and arrays at so many bytes or steps: a thousand episodes may be open at once, and one may
# have no end.
MAX_HELD_BYTES = 1 << 18
MAX_HELD_STEPS = 1 << 12


@dataclass(frozen=True, kw_only=True)
class ScriptEpisode:
    """One episode of a script."""

    index: int
    """Its number in the order of starting; its seed follows from it."""
    total: float
    """Rewards so far, summed in order as Python floats."""
    length: int
    finished: bool
    """Whether it came to its end."""
    checksum: str
    """Over observations, rewards and end flags."""
    actions: tuple[Array, ...]
    """One array per leaf, shape (length, *leaf shape); integers in a type that holds them."""


class OpenEpisode:
    """The recorder of an open episode; a step costs three appends."""

    __slots__ = ("_actions", "_checksum", "_earned", "_folded", "_held", "_leaves", "_length", "_seen", "_total", "index")

    def __init__(self, index: int, leaves: tuple[wire.Leaf, ...], observation: Sequence[bytes]) -> None:
        self.index = index
        self._leaves = leaves
        self._checksum = EpisodeChecksum(len(observation))
        self._seen: list[Sequence[bytes]] = [observation]
        self._held = 0
        self._actions: list[Sequence[bytes]] = []
        self._earned: list[float] = []
        self._folded: list[list[Array]] = [[] for _ in leaves]
        self._length = 0
        self._total = 0.0

    def step(self, action: Sequence[bytes], observation: Sequence[bytes], reward: float) -> None:
        """Add a step; the action is the one that the environment got."""
        self._actions.append(action)
        self._earned.append(reward)
        self._seen.append(observation)
        self._held += len(observation[0])
        if self._held > MAX_HELD_BYTES or len(self._earned) >= MAX_HELD_STEPS:
            self._fold()

    def _fold(self) -> None:
        """Turn the buffered steps into hashes, sums and arrays."""
        if self._seen:
            self._checksum.see([b"".join(leaf) for leaf in zip(*self._seen, strict=True)])
        self._checksum.earn(np.array(self._earned, "<f8").tobytes())
        for number, leaf in enumerate(self._leaves):
            raw = np.frombuffer(b"".join([action[number] for action in self._actions]), leaf.dtype)
            self._folded[number].append(_narrow(raw.reshape(len(self._actions), *leaf.shape)))
        for reward in self._earned:  # in order, as a plain loop sums
            self._total += reward
        self._length += len(self._earned)
        self._seen, self._actions, self._earned, self._held = [], [], [], 0

    def close(self, *, terminated: bool, truncated: bool) -> ScriptEpisode:
        """The episode, ended or abandoned."""
        self._fold()
        return ScriptEpisode(
            index=self.index,
            total=self._total,
            length=self._length,
            finished=terminated or truncated,
            checksum=self._checksum.close(self._length, terminated=terminated, truncated=truncated),
            actions=tuple(np.concatenate(folded) for folded in self._folded),
        )


def _narrow(values: Array) -> Array:
    """Integers in the smallest signed type that holds them: up to fifty million actions are kept."""
    if values.dtype.kind not in "iu":
        return values
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    for name in ("i1", "i2", "i4"):
        info = np.iinfo(name)
        if info.min <= low and high <= info.max:
            return values.astype(name)
    return values
