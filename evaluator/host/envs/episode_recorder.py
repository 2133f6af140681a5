"""Recording of episodes: actions, return, and a checksum over observations and rewards."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluator import wire
from evaluator.host.errors import AgentFault
from evaluator.model.records.trace import MAX_UNPACKED_BYTES
from evaluator.model.records.verdict import Verdict

Array = npt.NDArray[Any]
# Buffered frames go to their lanes when there are this many of them, or this many bytes.
MAX_BUFFERED_FRAMES = 1024
MAX_BUFFERED_BYTES = 1 << 24


@dataclass(frozen=True, kw_only=True)
class PlayedEpisode:
    """One finished episode."""

    total: float
    """Undiscounted return: the rewards summed in order as Python floats."""
    length: int
    checksum: str
    """Over observations, rewards and end flags."""
    actions: tuple[Array, ...]
    """One array per leaf, shape (length, *leaf shape); of integers in a type that holds them."""
    clipped: int = 0
    """Numbers of float actions that were clipped to the space."""


class EpisodeChecksum:
    """A checksum with one hash per stream, so that it does not depend on how steps are grouped."""

    def __init__(self, leaves: int) -> None:
        self._observations = [hashlib.blake2b(digest_size=32) for _ in range(leaves)]
        self._rewards = hashlib.blake2b(digest_size=32)

    def add_observations(self, observations: Sequence[Any]) -> None:
        """Add observations: contiguous bytes, one per leaf."""
        for stream, data in zip(self._observations, observations, strict=True):
            stream.update(data)

    def add_rewards(self, rewards: Any) -> None:
        """Add rewards: contiguous little-endian float64."""
        self._rewards.update(rewards)

    def close(self, length: int, *, terminated: bool, truncated: bool) -> str:
        """32 hex digits over everything added."""
        end = hashlib.blake2b(digest_size=16)
        for stream in (*self._observations, self._rewards):
            end.update(stream.digest())
        end.update(f"{length} {terminated:d} {truncated:d}".encode())
        return end.hexdigest()


def narrow(values: Array) -> Array:
    """Signed integers in the smallest type that holds them, since many millions of actions may be kept.

    Not unsigned ones: numpy joins those of 64 bits with signed ones as floats.
    """
    if values.dtype.kind == "i" and values.size:
        low, high = int(values.min()), int(values.max())
        for name in ("i1", "i2", "i4"):
            info = np.iinfo(name)
            if info.min <= low and high <= info.max:
                return values.astype(name)
    return values


def most_steps(actions: tuple[wire.Leaf, ...]) -> int:
    """Steps whose actions a trace may hold if each integer takes one byte; nobody needs to play more."""
    return MAX_UNPACKED_BYTES // max(
        leaf.nbytes if leaf.dtype[1] == "f" else max(1, math.prod(leaf.shape)) for leaf in actions
    )


def too_many_steps() -> AgentFault:
    """The fault of an agent that plays more steps than a trace holds, which would fill the referee's memory."""
    return AgentFault(Verdict.OUTPUT_LIMIT, "it played more steps than a trace holds; end episodes earlier")


class EpisodeRecorder:
    """Buffers the frames of a fixed set of lanes and distributes them to the lanes, many at once.

    A step costs three appends; arrays are made of many frames at once.
    """

    def __init__(self, lanes: int, observations: tuple[wire.Leaf, ...], actions: tuple[wire.Leaf, ...]) -> None:
        per_step = max(1, lanes) * (sum(leaf.nbytes for leaf in (*observations, *actions)) + 8)
        self._size = max(1, min(MAX_BUFFERED_FRAMES, MAX_BUFFERED_BYTES // per_step))
        self._leaves, self._actions = observations, actions
        self._seen: list[list[bytes]] = []
        self._done: list[list[Array]] = []
        self._earned: list[list[Any]] = []
        self.lanes = [OpenEpisode(len(observations), len(actions)) for _ in range(lanes)]

    def begin(self, lane: int, observation: Sequence[bytes]) -> None:
        """Start an episode on a lane; `flush` was called before."""
        self.lanes[lane] = OpenEpisode(len(self._leaves), len(self._actions))
        self.lanes[lane].checksum.add_observations(observation)

    def step(self, observations: list[bytes], actions: list[Array], rewards: list[Any]) -> None:
        """Add a step of every lane."""
        self._seen.append(observations)
        self._done.append(actions)
        self._earned.append(rewards)
        if len(self._earned) >= self._size:
            self.flush()

    def flush(self) -> None:
        """Distribute the buffered frames to the lanes."""
        if not self._earned:
            return
        shape = (len(self._earned), len(self.lanes))
        seen = [
            np.frombuffer(b"".join(frames), leaf.dtype).reshape(*shape, *leaf.shape)
            for leaf, frames in zip(self._leaves, zip(*self._seen, strict=True), strict=True)
        ]
        done = [narrow(np.stack(frames)) for frames in zip(*self._done, strict=True)]
        earned = np.array(self._earned, "<f8").reshape(shape)
        for index, lane in enumerate(self.lanes):
            lane.take([leaf[:, index] for leaf in seen], [leaf[:, index] for leaf in done], earned[:, index])
        self._seen, self._done, self._earned = [], [], []

    def for_lanes(self, lanes: list[int]) -> "EpisodeRecorder":
        """A recorder for only these lanes; `flush` was called before."""
        fewer = EpisodeRecorder(len(lanes), self._leaves, self._actions)
        fewer.lanes = [self.lanes[lane] for lane in lanes]
        return fewer


class OpenEpisode:
    """What is recorded of an episode that goes on."""

    def __init__(self, observations: int, actions: int) -> None:
        self.checksum = EpisodeChecksum(observations)
        self._kept: list[list[Array]] = [[] for _ in range(actions)]
        self._total = 0.0
        self._length = 0

    def take(self, seen: Sequence[Array], done: Sequence[Array], earned: Array) -> None:
        """Add steps, shape (steps, ...) each: copies of the actions, and of observations as many as there are."""
        self.checksum.add_observations([np.ascontiguousarray(leaf) for leaf in seen])
        self.checksum.add_rewards(np.ascontiguousarray(earned))
        for kept, leaf in zip(self._kept, done, strict=True):
            kept.append(leaf.copy())
        for reward in earned.tolist():  # in order, as a plain loop sums
            self._total += reward
        self._length += len(earned)

    def close(self, *, terminated: bool, truncated: bool, clipped: int = 0) -> PlayedEpisode:
        """The episode, ended or abandoned."""
        return PlayedEpisode(
            total=self._total,
            length=self._length,
            checksum=self.checksum.close(self._length, terminated=terminated, truncated=truncated),
            actions=tuple(np.concatenate(kept) for kept in self._kept),
            clipped=clipped,
        )
