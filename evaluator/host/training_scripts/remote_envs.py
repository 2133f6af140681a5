"""The environments of a script: made, reset and stepped where the script cannot reach, and every return kept."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from evaluator import wire
from evaluator.host.envs.gym_task import GymTask
from evaluator.host.envs.spaces import IllegalActionError
from evaluator.host.errors import AgentFault
from evaluator.host.training_scripts.episode_recorder import OpenEpisode, ScriptEpisode
from evaluator.model.canonical_json import canonical
from evaluator.model.config.training_script import ENVIRONMENTS, EPISODES, ScriptRules
from evaluator.model.records.verdict import Verdict

# Steps of an episode where the task has no time limit.
NEVER = 1 << 62


class EnvSlot:
    """One remote environment; nothing is made before its first reset."""

    __slots__ = ("environment", "limit", "live", "step")

    def __init__(self) -> None:
        self.environment: gymnasium.Env[Any, Any] | None = None
        self.step: Any = None
        self.live: OpenEpisode | None = None
        self.limit = 0


def stepped(place: EnvSlot, action: Any) -> tuple[Any, float, bool, bool]:
    """One environment's step: observation, reward, terminated, truncated."""
    if place.live is None:
        raise AgentFault(Verdict.PROTOCOL_ERROR, "a step on an environment whose episode has ended, or not begun")
    observation, reward, terminated, truncated, _ = place.step(action)
    place.limit -= 1
    return observation, float(reward), bool(terminated), bool(truncated) or not place.limit


def rows_of(raw: bytes, count: int) -> list[bytes]:
    """The bytes of each of `count` values that lie one after the other."""
    size = len(raw) // count
    if not size:
        return [b""] * count
    return [raw[begin : begin + size] for begin in range(0, len(raw), size)]


# Environments that one script may ever open.
EVER = 1 << 30
# A step of one environment with an integer for an action: what it is about, no reset, the integer.
ONE = 32
_TAIL = struct.Struct("<dQQ")


@dataclass(frozen=True, kw_only=True)
class ScriptTask:
    """What a script may play."""

    world: GymTask
    """The task's environment."""
    rules: ScriptRules
    """Its budget."""
    seed_of: Callable[[int], str]
    """The environment's seed of each episode, by the order of starting."""

    @property
    def training_steps(self) -> int:
        """Steps before the episodes that count; `open_world` has seen that the task has a time limit and leaves some."""
        return self.rules.training_steps(self.world.time_limit or NEVER)


class RemoteEnvServer:
    """Answers a script's frames. Nothing that the other side writes is believed; nonsense is a fault."""

    def __init__(self, offer: ScriptTask) -> None:
        self._offer = offer
        self._world = offer.world
        self._encoder = offer.world.encoder()
        self._decoder = offer.world.decoder()
        self._places: dict[int, EnvSlot] = {}
        self._next = 0
        self._told: dict[int, ScriptEpisode] = {}
        self._begun = 0
        self._opened = 0
        self._looks = 0
        self._training_steps = offer.training_steps
        self._counts_from: int | None = None
        self._counted_ended = 0
        self._seen = [(np.dtype(leaf.dtype), leaf.nbytes) for leaf in self._encoder.leaves]
        self._least, self._greatest = _range(offer.world.action_space)
        self._one: EnvSlot | None = None
        self._one_head = b""
        self._head = b""
        self._head_places: list[EnvSlot] = []
        self._head_resets: frozenset[int] = frozenset()
        self.steps = 0
        self.exhausted = False
        self._handlers: dict[int, Callable[[int, memoryview], bytes]] = {
            wire.Op.MAKE: self._make,
            wire.Op.RESET: self._reset,
            wire.Op.STEP: self._step,
            wire.Op.RELEASE: self._release,
        }

    @property
    def longest(self) -> int:
        """Bytes of the longest body that a script can have reason to send."""
        count = ENVIRONMENTS
        return wire.COUNT.size + wire.padded(4 * count) + wire.padded(count) + wire.body_size(self._decoder.leaves, count)

    def answer(self, op: int, body: memoryview) -> bytes:
        """The frame that answers one of the script's.

        Raises:
            FaultError: it is not one that the remote environment sends.
        """
        if op == wire.Op.STEP and len(body) == ONE and self._one is not None and body[:-8] == self._one_head:
            if self._is_over(1):
                return self._over()
            (action,) = wire.INTEGER.unpack_from(body, ONE - 8)
            if self._least <= action <= self._greatest:
                return self._step_one(self._one, action, [bytes(body[-8:])])
        handler = self._handlers.get(op)
        if handler is None or len(body) < wire.COUNT.size:
            raise AgentFault(Verdict.PROTOCOL_ERROR, f"opcode {op} with {len(body)} bytes is nothing a script may ask")
        count, _ = wire.COUNT.unpack_from(body)
        if not 1 <= count <= ENVIRONMENTS:
            if op == wire.Op.MAKE and count:
                return self._too_many()
            raise AgentFault(Verdict.PROTOCOL_ERROR, f"a frame about {count} environments; at most {ENVIRONMENTS} may live")
        return handler(count, body)

    def _make(self, count: int, body: memoryview) -> bytes:
        _expect(body, wire.COUNT.size)
        if len(self._places) + count > ENVIRONMENTS or self._next > EVER:
            return self._too_many()
        first = self._next
        for handle in range(first, first + count):
            self._places[handle] = EnvSlot()
        self._next += count
        return wire.frame(wire.Op.MADE, wire.COUNT.pack(count, first))

    def _too_many(self) -> bytes:
        return _refused(f"at most {ENVIRONMENTS} environments may be open at once; close some", over=False)

    def _release(self, count: int, body: memoryview) -> bytes:
        self._head, self._one = b"", None
        for handle in self._handles(count, body, wire.COUNT.size + wire.padded(4 * count)):
            place = self._places.pop(handle)
            self._abandon(place)
            if place.environment is not None:
                place.environment.close()
        return wire.frame(wire.Op.RELEASED)

    def _reset(self, count: int, body: memoryview) -> bytes:
        handles = self._handles(count, body, wire.COUNT.size + wire.padded(4 * count))
        if not self._may_begin():
            return self._over()
        observations = [self._start(self._places[handle]) for handle in handles]
        seen = self._encoder.encode(observations)
        rows = [rows_of(raw, count) for raw in seen]
        for row, handle in enumerate(handles):
            self._places[handle].live = self._open([leaf[row] for leaf in rows])
        return wire.frame(wire.Op.BEGUN, *_padded(seen))

    def _is_over(self, more: int) -> bool:
        """Whether the run has ended: all episodes that count have, or so many steps more are not left."""
        return self._counted_ended >= self._offer.rules.last or self.steps + more > self._offer.rules.steps

    def _may_begin(self) -> bool:
        """Whether another episode may begin. None does after those that count: it would only take steps from them."""
        return (
            self._begun - self.counts_from < self._offer.rules.last
            and max(self.steps + 1, self._looks) <= self._offer.rules.steps
            and self._begun < EPISODES - ENVIRONMENTS
        )

    def _over(self) -> bytes:
        self.exhausted = True
        rules = self._offer.rules
        if self._counted_ended >= rules.last:
            return _refused(f"the {rules.last:,} episodes that count have ended, and so has the run", over=True)
        if self._begun - self.counts_from >= rules.last:
            return _refused(
                f"the {rules.last:,} episodes that count have begun; no other may, play them to their ends", over=True
            )
        many = self._begun >= EPISODES - ENVIRONMENTS
        budget = f"{self._begun:,} episodes" if many else f"{rules.steps:,} steps"
        return _refused(f"the budget of {budget} is used up; what was played until now counts", over=True)

    @property
    def counts_from(self) -> int:
        """Number of the first episode begun after the training steps; of all episodes while none was."""
        return self._begun if self._counts_from is None else self._counts_from

    def _start(self, place: EnvSlot) -> Any:
        """Begin the next episode in a place; returns its first observation."""
        self._abandon(place)
        if place.environment is None or not self._world.task.reusable:
            if place.environment is not None:
                place.environment.close()
            place.environment = self._world.make()
            place.step = place.environment.step
        place.limit = self._world.time_limit or NEVER
        if self._counts_from is None and self.steps >= self._training_steps:
            self._counts_from = self._begun
        self._begun += 1
        return self._world.start(place.environment, self._offer.seed_of(self._begun - 1))

    def _open(self, observation: list[bytes]) -> OpenEpisode:
        """The record of an episode that has begun; episodes are opened in the order in which they were started."""
        self._opened += 1
        return OpenEpisode(self._opened - 1, self._decoder.leaves, observation)

    def _abandon(self, place: EnvSlot) -> None:
        if place.live is not None:
            self._close(place, terminated=False, truncated=False)

    def _close(self, place: EnvSlot, *, terminated: bool, truncated: bool) -> None:
        assert place.live is not None
        told = place.live.close(terminated=terminated, truncated=truncated)
        self._told[told.index] = told
        place.live = None
        self._looks += not told.length
        if self._counts_from is not None and 0 <= told.index - self._counts_from < self._offer.rules.last:
            self._counted_ended += 1

    def _step(self, count: int, body: memoryview) -> bytes:
        actions_at = wire.COUNT.size + wire.padded(4 * count) + wire.padded(count)
        _expect(body, actions_at + wire.body_size(self._decoder.leaves, count))
        places, resets = self._named(count, bytes(body[:actions_at]))
        try:
            # A copy: the next frame is read into the same buffer, and an environment may keep its action.
            actions, arrays = self._decoder.decode(memoryview(bytearray(body[actions_at:])), count)
        except IllegalActionError as error:
            raise AgentFault(Verdict.PROTOCOL_ERROR, f"step: {error}") from error
        if self._is_over(count - len(resets)) or (resets and not self._may_begin()):
            return self._over()
        if count == 1 and not resets:
            self._one, self._one_head = places[0], self._head
            return self._step_one(places[0], actions[0], [array.tobytes() for array in arrays])
        observations: list[Any] = []
        rewards = [0.0] * count
        ended: dict[int, tuple[bool, bool]] = {}
        for row, place in enumerate(places):
            if row in resets:
                observations.append(self._start(place))
                continue
            observation, rewards[row], terminated, truncated = stepped(place, actions[row])
            observations.append(observation)
            if terminated or truncated:
                ended[row] = terminated, truncated
        seen = self._encoder.encode(observations)
        self._keep(places, resets, (seen, arrays, rewards), ended)
        flags = np.zeros((2, wire.padded(count)), np.uint8)
        for row, pair in ended.items():
            flags[:, row] = pair
        return wire.frame(wire.Op.STEPPED, *_padded(seen), np.array(rewards, "<f8").tobytes(), flags.tobytes())

    def _step_one(self, place: EnvSlot, action: Any, done: list[bytes]) -> bytes:
        """The commonest case, without a detour: scripts of the old boards step one environment at a time."""
        observation, reward, terminated, truncated = stepped(place, action)
        seen = self._encode_one(observation)
        assert place.live is not None
        place.live.step(done, seen, reward)
        self.steps += 1
        if terminated or truncated:
            self._close(place, terminated=terminated, truncated=truncated)
        return wire.frame(wire.Op.STEPPED, *_padded(seen), _TAIL.pack(reward, terminated, truncated))

    def _encode_one(self, observation: Any) -> list[bytes]:
        dtype, nbytes = self._seen[0]
        if len(self._seen) == 1 and getattr(observation, "dtype", None) is dtype:
            raw = observation.tobytes()
            if len(raw) == nbytes:
                return [raw]
        return self._encoder.encode((observation,))

    def _keep(
        self, places: list[EnvSlot], resets: frozenset[int], came: tuple[list[bytes], list[Any], list[float]],
        ended: dict[int, tuple[bool, bool]],
    ) -> None:  # fmt: skip
        """Record a step of many environments, dealt out as slices of the leaves that are sent."""
        seen, arrays, rewards = came
        rows = [rows_of(raw, len(places)) for raw in seen]
        done = [rows_of(array.tobytes(), len(places)) for array in arrays]
        for row, place in enumerate(places):
            raw = [leaf[row] for leaf in rows]
            if row in resets:
                place.live = self._open(raw)
                continue
            assert place.live is not None
            place.live.step([leaf[row] for leaf in done], raw, rewards[row])
            if row in ended:
                terminated, truncated = ended[row]
                self._close(place, terminated=terminated, truncated=truncated)
        self.steps += len(places) - len(resets)

    def _named(self, count: int, head: bytes) -> tuple[list[EnvSlot], frozenset[int]]:
        """The places that a step is about, and the rows that are reset instead; a head like the last is not read again."""
        if head != self._head:
            start = wire.COUNT.size + wire.padded(4 * count)
            self._head_places = [self._places[handle] for handle in self._handles(count, memoryview(head), len(head))]
            self._head_resets = frozenset(row for row in range(count) if head[start + row])
            self._head = head
        return self._head_places, self._head_resets

    def _handles(self, count: int, body: memoryview, size: int) -> tuple[int, ...]:
        _expect(body, size)
        handles = struct.unpack_from(f"<{count}I", body, wire.COUNT.size)
        if len(set(handles)) != count or not all(handle in self._places for handle in handles):
            raise AgentFault(Verdict.PROTOCOL_ERROR, "a frame names an environment twice, or one that is not open")
        return handles

    @property
    def clipped(self) -> int:
        """Numbers of float actions that were clipped to the space."""
        return self._decoder.clipped

    def finish(self) -> tuple[ScriptEpisode, ...]:
        """Every episode; those that live are abandoned."""
        for place in self._places.values():
            self._abandon(place)
            if place.environment is not None:
                place.environment.close()
        return tuple(self._told[index] for index in range(self._opened))


def _range(space: spaces.Space[Any]) -> tuple[int, int]:
    """The least and the greatest action of one that is an integer; nothing lies between them otherwise."""
    return (int(space.start), int(space.start + space.n - 1)) if isinstance(space, spaces.Discrete) else (1, 0)


def _expect(body: memoryview, size: int) -> None:
    if len(body) != size:
        raise AgentFault(Verdict.PROTOCOL_ERROR, f"a frame has {len(body)} bytes where {size} belong")


def _refused(reason: str, *, over: bool) -> bytes:
    return wire.frame(wire.Op.REFUSED, canonical({"reason": reason, "over": over}))


def _padded(leaves: list[bytes]) -> list[bytes]:
    """Leaves of a body, each brought to the alignment."""
    return [part for raw in leaves for part in (raw, wire.padding(len(raw)))]
