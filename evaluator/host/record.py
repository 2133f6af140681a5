"""What an episode leaves behind: its actions, its return, and a checksum over all it met."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluator import wire

Array = npt.NDArray[Any]
RING_BYTES = 1 << 24
RING_STEPS = 1024


@dataclass(frozen=True, kw_only=True)
class Played:
    """One finished episode."""

    total: float
    """Undiscounted return: the rewards summed in order as Python floats."""
    length: int
    """Steps."""
    checksum: str
    """Over observations, rewards and end flags."""
    actions: tuple[Array, ...]
    """One array per leaf, shape (length, *leaf shape)."""


class Checksum:
    """One hash per stream, so that how the steps were cut into pieces does not matter."""

    def __init__(self, leaves: int) -> None:
        self._observations = [hashlib.blake2b(digest_size=32) for _ in range(leaves)]
        self._rewards = hashlib.blake2b(digest_size=32)

    def see(self, observations: Sequence[Any]) -> None:
        """Add observations: contiguous bytes, one per leaf."""
        for stream, data in zip(self._observations, observations, strict=True):
            stream.update(data)

    def earn(self, rewards: Any) -> None:
        """Add rewards: contiguous little-endian float64."""
        self._rewards.update(rewards)

    def close(self, length: int, *, terminated: bool, truncated: bool) -> str:
        """32 hex digits over everything added."""
        end = hashlib.blake2b(digest_size=16)
        for stream in (*self._observations, self._rewards):
            end.update(stream.digest())
        end.update(f"{length} {terminated:d} {truncated:d}".encode())
        return end.hexdigest()


class Recorder:
    """Keeps what a fixed set of lanes does, frame by frame, in rings that are emptied into the lanes' own records."""

    def __init__(self, lanes: int, observations: tuple[wire.Leaf, ...], actions: tuple[wire.Leaf, ...]) -> None:
        per_step = max(1, lanes) * (sum(leaf.nbytes for leaf in (*observations, *actions)) + 8)
        self._size = max(1, min(RING_STEPS, RING_BYTES // per_step))
        self._leaves = observations
        self._actions = actions
        self._seen = [np.zeros((self._size, lanes, *leaf.shape), leaf.dtype) for leaf in observations]
        self._done = [np.zeros((self._size, lanes, *leaf.shape), leaf.dtype) for leaf in actions]
        self._rewards = np.zeros((self._size, lanes))
        self._totals = np.zeros(lanes)
        self._sums = [Checksum(len(observations)) for _ in range(lanes)]
        self._kept: list[list[list[Array]]] = [[[] for _ in actions] for _ in range(lanes)]
        self._from = [0] * lanes
        self._lengths = [0] * lanes
        self._at = 0

    def begin(self, lane: int, observation: Sequence[bytes]) -> None:
        """An episode starts on a lane with that observation."""
        self._sums[lane] = Checksum(len(self._leaves))
        self._sums[lane].see(observation)
        self._kept[lane] = [[] for _ in self._done]
        self._totals[lane] = 0.0
        self._from[lane] = self._at
        self._lengths[lane] = 0

    def step(self, observations: list[bytes], actions: list[Array], rewards: list[Any]) -> None:
        """Every lane made a step."""
        at = self._at
        for ring, leaf, raw in zip(self._seen, self._leaves, observations, strict=True):
            ring[at] = np.frombuffer(raw, leaf.dtype).reshape(ring.shape[1:])
        for ring, array in zip(self._done, actions, strict=True):
            ring[at] = array
        row = self._rewards[at]
        row[:] = rewards
        self._totals += row
        self._at += 1
        if self._at == self._size:
            self.flush()

    def flush(self) -> None:
        """Empty the rings."""
        for lane in range(len(self._sums)):
            self._empty(lane)
        self._at = 0
        self._from = [0] * len(self._sums)

    def _empty(self, lane: int) -> None:
        part = slice(self._from[lane], self._at)
        if part.start == part.stop:
            return
        self._sums[lane].see([np.ascontiguousarray(ring[part, lane]) for ring in self._seen])
        self._sums[lane].earn(np.ascontiguousarray(self._rewards[part, lane]))
        for kept, ring in zip(self._kept[lane], self._done, strict=True):
            kept.append(ring[part, lane].copy())
        self._lengths[lane] += part.stop - part.start
        self._from[lane] = self._at

    def only(self, lanes: list[int]) -> "Recorder":
        """A recorder that goes on with just these lanes."""
        self.flush()
        smaller = Recorder(len(lanes), self._leaves, self._actions)
        smaller._sums = [self._sums[lane] for lane in lanes]
        smaller._kept = [self._kept[lane] for lane in lanes]
        smaller._lengths = [self._lengths[lane] for lane in lanes]
        smaller._totals = self._totals[lanes]
        return smaller

    def finish(self, lane: int, *, terminated: bool, truncated: bool) -> Played:
        """An episode ended on a lane."""
        self._empty(lane)
        length = self._lengths[lane]
        return Played(
            total=float(self._totals[lane]),
            length=length,
            checksum=self._sums[lane].close(length, terminated=terminated, truncated=truncated),
            actions=tuple(np.concatenate(kept) for kept in self._kept[lane]),
        )
