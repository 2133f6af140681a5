"""The remote environment that `gymnasium.make` returns for the task; its steps run at the referee.

A script runs unchanged, and the referee knows every return that it really got.
"""

import copy
import json
import math
import operator
import os
import struct
import sys
import threading
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from evaluator import wire
from evaluator.sandbox.observations_and_actions import ActionWriter, ObservationReader, gymnasium_space

_OTHER_PROCESS = (
    "this environment belongs to the process that made it; for many at once use gymnasium.make_vec(id, num_envs=…)"
)
_INTERRUPTED = "an earlier question to the referee was interrupted, so its answer cannot be told from the next one's"


class BudgetOver(RuntimeError):
    """The run is over, or no more episodes may begin; the episodes until now count."""


class RefereeLink:
    """Sends questions to the referee, and collects notices of refused or ignored requests."""

    def __init__(self, stream: Any, hello: dict[str, Any]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._waiting = False
        self.hello = hello
        self.reader = ObservationReader(hello["observation_space"])
        self.writer = ActionWriter(hello["action_space"])
        self.notices: list[str] = []
        # Handles of garbage-collected environments, released later: collection may happen between a question and its answer.
        self.dropped: list[int] = []

    def ask(self, op: wire.Op, *parts: bytes | memoryview) -> memoryview:
        """Send a question; returns the answer's body.

        Raises:
            BudgetOver: no more episodes may begin, or the run is over.
            gymnasium.error.Error: the referee refuses.
        """
        return self.exchange(wire.frame(op, *parts))

    def exchange(self, frame: bytes) -> memoryview:
        """Send a frame; returns the answer's body. Raises as `ask` does."""
        if os.getpid() != self._owner:
            raise gymnasium.error.Error(_OTHER_PROCESS)
        with self._lock:
            if self._waiting:
                raise gymnasium.error.Error(_INTERRUPTED)
            self._waiting = True
            self._stream.send(frame)
            got, body = self._stream.receive()
            self._waiting = False
        if got == wire.Op.REFUSED:
            refusal = json.loads(bytes(body))
            raise (BudgetOver if refusal["over"] else gymnasium.error.Error)(refusal["reason"])
        answer: memoryview = body
        return answer

    def notice(self, text: str) -> None:
        """Print once that a request is refused or ignored."""
        if text not in self.notices:
            self.notices.append(text)
            print(f"pullrank: {text}", file=sys.stderr, flush=True)

    def make(self, count: int) -> int:
        """Open environments; returns the first one's handle."""
        dropped, self.dropped = self.dropped, []
        if dropped:
            self.release(dropped)
        first: int = wire.COUNT.unpack(self.ask(wire.Op.MAKE, wire.COUNT.pack(count, 0)))[1]
        return first

    def reset(self, handles: Sequence[int]) -> Any:
        """Begin an episode in each environment; returns the stacked observations."""
        body = self.ask(wire.Op.RESET, handles_body(handles))
        return self.reader.stacked(body, len(handles), 0)

    def release(self, handles: Sequence[int]) -> None:
        """Close environments."""
        self.ask(wire.Op.RELEASE, handles_body(handles))

    def step(self, head: bytes, actions: bytes, count: int) -> tuple[Any, Any, Any, Any]:
        """Step environments; returns stacked observations, rewards, terminated and truncated flags."""
        body = self.ask(wire.Op.STEP, head, actions)
        end = len(body) - 2 * wire.padded_size(count) - 8 * count
        rewards = np.frombuffer(body, "<f8", count, end)
        terminated = np.frombuffer(body, np.bool_, count, end + 8 * count)
        truncated = np.frombuffer(body, np.bool_, count, end + 8 * count + wire.padded_size(count))
        return self.reader.stacked(body, count, 0), rewards, terminated, truncated


def handles_body(handles: Sequence[int]) -> bytes:
    """The part of a body that names environments."""
    raw = struct.pack(f"<II{len(handles)}I", len(handles), 0, *handles)
    return raw + wire.padding(4 * len(handles))


def step_head(handles: Sequence[int], resets: Sequence[bool]) -> bytes:
    """The head of a STEP body: the environments, and which of them are reset instead."""
    return handles_body(handles) + bytes(resets) + wire.padding(len(handles))


class RemoteEnv(gymnasium.Env[Any, Any]):
    """One environment at the referee."""

    metadata = {"render_modes": [], "render_fps": 0}  # noqa: RUF012  (Gymnasium's own form)
    _handle = -1

    def __init__(self, link: RefereeLink) -> None:
        self._link = link
        self.observation_space = gymnasium_space(link.hello["observation_space"])
        self.action_space = gymnasium_space(link.hello["action_space"])
        self.spec = spec_of(link.hello)
        self.render_mode = None
        self._handle = link.make(1)
        head = step_head([self._handle], [False])
        leaves = tuple(wire.leaves(link.hello["action_space"]))
        self._front = wire.HEADER.pack(len(head) + wire.body_size(leaves, 1), wire.Op.STEP) + head
        plain = list(wire.leaves(link.hello["observation_space"]))
        self._box = (plain[0], math.prod(plain[0].shape)) if isinstance(self.observation_space, spaces.Box) else None
        self._live = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, whose seed the referee chooses."""
        self._check_open()
        notice_ignored(self._link, seed, options)
        super().reset(seed=seed)
        stacked = self._link.reset([self._handle])
        self._live = True
        return self._link.reader.single(stacked, 0), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step at the referee."""
        if not self._live:
            self._check_open()
            raise gymnasium.error.ResetNeeded("the episode has ended, or none has begun: call reset() first")
        link = self._link
        body = link.exchange(self._front + self._encode(action))
        reward, terminated, truncated = wire.STEPPED_TAIL.unpack_from(body, len(body) - wire.STEPPED_TAIL.size)
        self._live = not (terminated or truncated)
        if self._box is not None:  # fast way for the most common case; the body is a new buffer
            leaf, size = self._box
            seen: Any = np.frombuffer(body, leaf.dtype, size).reshape(leaf.shape)
        else:
            seen = link.reader.single(link.reader.stacked(body, 1, 0), 0)
        return seen, reward, bool(terminated), bool(truncated), {}

    def _encode(self, action: Any) -> bytes:
        space = self.action_space
        if not isinstance(space, spaces.Discrete):
            return self._link.writer.singles([action])
        try:
            number = operator.index(action)
        except TypeError:
            return self._link.writer.singles([action])  # raises an error that says what is wrong
        if not space.start <= number < space.start + space.n:
            raise gymnasium.error.InvalidAction(f"the action {number} is not in {space}")
        return wire.INTEGER.pack(number)

    def _check_open(self) -> None:
        if self._handle < 0:
            raise gymnasium.error.ClosedEnvironmentError("the environment was closed; make another one")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"the environment is at the referee and has no attribute {name!r} here; what it is like inside cannot be read"
        )

    def close(self) -> None:
        """Close it at the referee too."""
        if self._handle >= 0:
            self._link.release([self._handle])
        self._handle, self._live = -1, False

    def __del__(self) -> None:
        if self._handle >= 0:
            self._link.dropped.append(self._handle)


def spec_of(hello: dict[str, Any]) -> EnvSpec:
    """The value of `env.spec`."""
    name = hello["env_id"].rpartition(":")[2]
    known = gymnasium.registry.get(name)
    spec = copy.copy(known) if known else EnvSpec(id=name)
    spec.entry_point = "evaluator.sandbox.remote_env:RemoteEnv"
    spec.max_episode_steps, spec.kwargs = hello["max_episode_steps"], dict(hello["kwargs"])
    return spec


def notice_ignored(link: RefereeLink, seed: Any, options: Any) -> None:
    """Note that seed and options of a reset are ignored."""
    if seed is not None:
        link.notice("a seed was given to reset(); the referee chooses the episodes, so it is ignored")
    if options:
        link.notice("options were given to reset(); the task has none, so they are ignored")
