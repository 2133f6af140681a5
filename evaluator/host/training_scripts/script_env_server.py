"""The environments of a training script, which the host makes, resets, steps and records."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from evaluator import wire
from evaluator.host.envs.episode_recorder import OpenEpisode, PlayedEpisode, narrow
from evaluator.host.envs.gym_task import GymTask
from evaluator.host.envs.spaces import IllegalActionError, padded_leaves
from evaluator.host.errors import AgentFault
from evaluator.host.usage import MIB, own_memory_bytes
from evaluator.model.canonical_json import canonical
from evaluator.model.config.training_script import MAX_OPEN_ENVIRONMENTS, ScriptRules
from evaluator.model.records.script_record import MAX_SCRIPT_EPISODES
from evaluator.model.records.verdict import Verdict

Array = npt.NDArray[Any]
# Buffered steps become hashes and arrays at this many bytes or steps: a thousand episodes may be open at once, and one may
# have no end.
MAX_HELD_BYTES = 1 << 18
MAX_HELD_STEPS = 1 << 12


@dataclass(frozen=True, kw_only=True)
class ScriptEpisode(PlayedEpisode):
    """One episode of a script."""

    index: int
    """Its number in the order of starting; its seed follows from it."""
    ended_at: int
    """Steps that the script had taken in all its environments when it ended."""
    finished: bool


class ScriptRecorder:
    """The recorder of an open episode; a step costs three appends."""

    __slots__ = ("_actions", "_earned", "_episode", "_leaves", "_most", "_seen", "index")

    def __init__(self, index: int, leaves: tuple[wire.Leaf, ...], observation: Sequence[bytes]) -> None:
        self.index = index
        self._leaves = leaves
        self._episode = OpenEpisode(len(observation), len(leaves))
        self._seen: list[Sequence[bytes]] = [observation]
        step = sum(map(len, observation)) + sum(leaf.nbytes for leaf in leaves)
        self._most = min(MAX_HELD_STEPS, MAX_HELD_BYTES // max(1, step))
        self._actions: list[Sequence[bytes]] = []
        self._earned: list[float] = []

    def step(self, action: Sequence[bytes], observation: Sequence[bytes], reward: float) -> None:
        """Add a step; the action is the one that the environment got."""
        self._actions.append(action)
        self._earned.append(reward)
        self._seen.append(observation)
        if len(self._earned) >= self._most:
            self._fold()

    def _fold(self) -> None:
        """Turn the buffered steps into hashes, sums and arrays."""
        if not self._seen:
            return
        seen = [np.frombuffer(b"".join(leaf), np.uint8) for leaf in zip(*self._seen, strict=True)]
        done = []
        for number, leaf in enumerate(self._leaves):
            raw = np.frombuffer(b"".join([action[number] for action in self._actions]), leaf.dtype)
            done.append(narrow(raw.reshape(len(self._actions), *leaf.shape)))
        self._episode.take(seen, done, np.array(self._earned, "<f8"))
        self._seen, self._actions, self._earned = [], [], []

    def close(self, ended_at: int, *, terminated: bool, truncated: bool) -> ScriptEpisode:
        """The episode, ended or abandoned."""
        self._fold()
        played = self._episode.close(terminated=terminated, truncated=truncated)
        return ScriptEpisode(index=self.index, ended_at=ended_at, finished=terminated or truncated, **vars(played))


# Steps of an episode where the task has no time limit.
NO_STEP_LIMIT = 1 << 62


class EnvSlot:
    """One environment of the script; it is made at the first reset."""

    __slots__ = ("environment", "limit", "live", "step")

    def __init__(self) -> None:
        self.environment: gymnasium.Env[Any, Any] | None = None
        self.step: Any = None
        self.live: ScriptRecorder | None = None
        self.limit = 0


def step_slot(slot: EnvSlot, action: Any) -> tuple[Any, float, bool, bool]:
    """One environment's step: observation, reward, terminated, truncated."""
    if slot.live is None:
        raise AgentFault(Verdict.PROTOCOL_ERROR, "a step on an environment whose episode has ended, or not begun")
    observation, reward, terminated, truncated, _ = slot.step(action)
    slot.limit -= 1
    return observation, float(reward), bool(terminated), bool(truncated) or not slot.limit


def rows_of(raw: bytes, count: int) -> list[bytes]:
    """The bytes of each of `count` values that lie one after the other."""
    size = len(raw) // count
    if not size:
        return [b""] * count
    return [raw[begin : begin + size] for begin in range(0, len(raw), size)]


# Environments that one script may open in all.
MAX_OPENED = 1 << 30
# What they may add to the memory of the referee, whose machine has other work; looked at from more than a few on.
MAX_ENVIRONMENT_BYTES = 2 << 30
FEW_ENVIRONMENTS = 8
# Bytes of a STEP body about one environment without a reset, with an integer action.
SINGLE_STEP_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class ScriptTask:
    """What a script may play, and with which seeds."""

    gym_task: GymTask
    rules: ScriptRules
    seed_of: Callable[[int, int], str]
    """The environment's seed of an episode, by its number in the order of starting, and that of the first one that counts;
    while none of those was begun, the number of all that were begun."""

    @property
    def training_steps(self) -> int:
        """Steps before the episodes that count; `load_gym_task` has checked that there are some."""
        return self.rules.training_steps(self.gym_task.time_limit or NO_STEP_LIMIT)


class RemoteEnvServer:
    """Answers a script's frames. Everything in them is checked; an invalid frame is a fault of the script."""

    def __init__(self, offer: ScriptTask) -> None:
        self._offer = offer
        self._gym_task = offer.gym_task
        self._encoder = offer.gym_task.encoder()
        self._decoder = offer.gym_task.decoder()
        self._slots: dict[int, EnvSlot] = {}
        self._made = 0
        self._next = 0
        self._closed: dict[int, ScriptEpisode] = {}
        self._begun = 0
        self._opened = 0
        self._empty_episodes = 0
        self._training_steps = offer.training_steps
        self._counts_from: int | None = None
        self._counted_ended = 0
        self._seen = [(np.dtype(leaf.dtype), leaf.nbytes) for leaf in self._encoder.leaves]
        # Of a Discrete space; an empty range for others.
        self._least, self._greatest = 1, 0
        if isinstance(space := offer.gym_task.action_space, spaces.Discrete):
            self._least, self._greatest = int(space.start), int(space.start + space.n - 1)
        self._single: EnvSlot | None = None
        self._single_head = b""
        self._head = b""
        self._head_slots: list[EnvSlot] = []
        self._head_resets: frozenset[int] = frozenset()
        self._memory = own_memory_bytes()
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
        """Bytes of the longest valid body."""
        count = MAX_OPEN_ENVIRONMENTS
        flags = wire.padded_size(4 * count) + wire.padded_size(count)
        return wire.COUNT.size + flags + wire.body_size(self._decoder.leaves, count)

    def answer(self, op: int, body: memoryview) -> bytes:
        """The answer to one of the script's frames.

        Raises:
            AgentFault: the frame is not valid.
        """
        if (
            op == wire.Op.STEP
            and len(body) == SINGLE_STEP_BYTES
            and self._single is not None
            and body[:-8] == self._single_head
        ):
            if self._is_over(1):
                return self._over()
            (action,) = wire.INTEGER.unpack_from(body, SINGLE_STEP_BYTES - 8)
            if self._least <= action <= self._greatest:
                return self._step_one(self._single, action, [bytes(body[-8:])])
        handler = self._handlers.get(op)
        if handler is None or len(body) < wire.COUNT.size:
            raise AgentFault(Verdict.PROTOCOL_ERROR, f"opcode {op} with {len(body)} bytes is nothing a script may ask")
        count, _ = wire.COUNT.unpack_from(body)
        if not 1 <= count <= MAX_OPEN_ENVIRONMENTS:
            if op == wire.Op.MAKE and count:
                return self._too_many()
            raise AgentFault(
                Verdict.PROTOCOL_ERROR, f"a frame about {count} environments; at most {MAX_OPEN_ENVIRONMENTS} may live"
            )
        return handler(count, body)

    def _make(self, count: int, body: memoryview) -> bytes:
        _expect(body, wire.COUNT.size)
        if len(self._slots) + count > MAX_OPEN_ENVIRONMENTS or self._next > MAX_OPENED:
            return self._too_many()
        first = self._next
        for handle in range(first, first + count):
            self._slots[handle] = EnvSlot()
        self._next += count
        return wire.frame(wire.Op.MADE, wire.COUNT.pack(count, first))

    def _too_many(self) -> bytes:
        return _refused(f"at most {MAX_OPEN_ENVIRONMENTS} environments may be open at once; close some", over=False)

    def _release(self, count: int, body: memoryview) -> bytes:
        self._head, self._single = b"", None
        for handle in self._handles(count, body, wire.COUNT.size + wire.padded_size(4 * count)):
            slot = self._slots.pop(handle)
            self._abandon(slot)
            if slot.environment is not None:
                self._made -= 1
                slot.environment.close()
        return wire.frame(wire.Op.RELEASED)

    def _reset(self, count: int, body: memoryview) -> bytes:
        handles = self._handles(count, body, wire.COUNT.size + wire.padded_size(4 * count))
        if not self._may_begin():
            return self._over()
        observations = [self._start(self._slots[handle]) for handle in handles]
        seen = self._encoder.encode(observations)
        rows = [rows_of(raw, count) for raw in seen]
        for row, handle in enumerate(handles):
            self._slots[handle].live = self._open([leaf[row] for leaf in rows])
        return wire.frame(wire.Op.BEGUN, *padded_leaves(seen))

    def _is_over(self, more: int) -> bool:
        """Whether the run is over: all counted episodes have ended, or fewer than `more` steps are left."""
        return self._counted_ended >= self._offer.rules.last or self.steps + more > self._offer.rules.steps

    def _may_begin(self) -> bool:
        """Whether another episode may begin. Not after the counted ones: it would use up their steps."""
        return (
            self._begun - self.counts_from < self._offer.rules.last
            and max(self.steps + 1, self._empty_episodes) <= self._offer.rules.steps
            and self._begun < MAX_SCRIPT_EPISODES - MAX_OPEN_ENVIRONMENTS
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
        many = self._begun >= MAX_SCRIPT_EPISODES - MAX_OPEN_ENVIRONMENTS
        budget = f"{self._begun:,} episodes" if many else f"{rules.steps:,} steps"
        return _refused(f"the budget of {budget} is used up; what was played until now counts", over=True)

    @property
    def counts_from(self) -> int:
        """Number of the first episode begun after the training steps; the number of all episodes if none was."""
        return self._begun if self._counts_from is None else self._counts_from

    def _start(self, slot: EnvSlot) -> Any:
        """Begin the next episode in a slot; returns its first observation."""
        self._abandon(slot)
        if slot.environment is None or not self._gym_task.task.reusable:
            if slot.environment is None:
                self._made += 1
            else:
                slot.environment.close()
            slot.environment = self._gym_task.make()
            slot.step = slot.environment.step
            self._check_memory()
        slot.limit = self._gym_task.time_limit or NO_STEP_LIMIT
        if self._counts_from is None and self.steps >= self._training_steps:
            self._counts_from = self._begun
        self._begun += 1
        return self._gym_task.start(slot.environment, self._offer.seed_of(self._begun - 1, self.counts_from))

    def _check_memory(self) -> None:
        """Raise AgentFault where many open environments take too much: a referee that is killed would leave no record."""
        if self._made > FEW_ENVIRONMENTS and (more := own_memory_bytes() - self._memory) > MAX_ENVIRONMENT_BYTES:
            words = f"{self._made} open environments take {more // MIB} MiB of the referee's"
            raise AgentFault(Verdict.OUT_OF_MEMORY, f"{words} {MAX_ENVIRONMENT_BYTES // MIB} MiB; open fewer at once")

    def _open(self, observation: list[bytes]) -> ScriptRecorder:
        """The recorder of a new episode; called in the order of starting."""
        self._opened += 1
        return ScriptRecorder(self._opened - 1, self._decoder.leaves, observation)

    def _abandon(self, slot: EnvSlot) -> None:
        if slot.live is not None:
            self._close(slot, terminated=False, truncated=False)

    def _close(self, slot: EnvSlot, *, terminated: bool, truncated: bool) -> None:
        assert slot.live is not None
        episode = slot.live.close(self.steps, terminated=terminated, truncated=truncated)
        self._closed[episode.index] = episode
        slot.live = None
        self._empty_episodes += not episode.length
        if self._counts_from is not None and 0 <= episode.index - self._counts_from < self._offer.rules.last:
            self._counted_ended += 1

    def _step(self, count: int, body: memoryview) -> bytes:
        actions_at = wire.COUNT.size + wire.padded_size(4 * count) + wire.padded_size(count)
        _expect(body, actions_at + wire.body_size(self._decoder.leaves, count))
        slots, resets = self._parse_head(count, bytes(body[:actions_at]))
        try:
            # A copy: the next frame is read into the same buffer, and an environment may keep its action.
            actions, arrays = self._decoder.decode(memoryview(bytearray(body[actions_at:])), count)
        except IllegalActionError as error:
            raise AgentFault(Verdict.PROTOCOL_ERROR, f"step: {error}") from error
        if self._is_over(count - len(resets)) or (resets and not self._may_begin()):
            return self._over()
        if count == 1 and not resets:
            self._single, self._single_head = slots[0], self._head
            return self._step_one(slots[0], actions[0], [array.tobytes() for array in arrays])
        observations: list[Any] = []
        rewards = [0.0] * count
        ended: dict[int, tuple[bool, bool]] = {}
        for row, slot in enumerate(slots):
            if row in resets:
                observations.append(self._start(slot))
                continue
            observation, rewards[row], terminated, truncated = step_slot(slot, actions[row])
            observations.append(observation)
            if terminated or truncated:
                ended[row] = terminated, truncated
        seen = self._encoder.encode(observations)
        self._record(slots, resets, (seen, arrays, rewards), ended)
        flags = np.zeros((2, wire.padded_size(count)), np.uint8)
        for row, pair in ended.items():
            flags[:, row] = pair
        return wire.frame(wire.Op.STEPPED, *padded_leaves(seen), np.array(rewards, "<f8").tobytes(), flags.tobytes())

    def _step_one(self, slot: EnvSlot, action: Any, done: list[bytes]) -> bytes:
        """Step a single environment fast: most scripts do nothing else."""
        observation, reward, terminated, truncated = step_slot(slot, action)
        seen = self._encode_one(observation)
        assert slot.live is not None
        slot.live.step(done, seen, reward)
        self.steps += 1
        if terminated or truncated:
            self._close(slot, terminated=terminated, truncated=truncated)
        return wire.frame(wire.Op.STEPPED, *padded_leaves(seen), wire.STEPPED_TAIL.pack(reward, terminated, truncated))

    def _encode_one(self, observation: Any) -> list[bytes]:
        dtype, nbytes = self._seen[0]
        if len(self._seen) == 1 and getattr(observation, "dtype", None) is dtype:
            raw = observation.tobytes()
            if len(raw) == nbytes:
                return [raw]
        return self._encoder.encode((observation,))

    def _record(
        self, slots: list[EnvSlot], resets: frozenset[int], came: tuple[list[bytes], list[Any], list[float]],
        ended: dict[int, tuple[bool, bool]],
    ) -> None:  # fmt: skip
        """Record a step of many environments, each with its slices of the leaves."""
        seen, arrays, rewards = came
        rows = [rows_of(raw, len(slots)) for raw in seen]
        done = [rows_of(array.tobytes(), len(slots)) for array in arrays]
        self.steps += len(slots) - len(resets)
        for row, slot in enumerate(slots):
            raw = [leaf[row] for leaf in rows]
            if row in resets:
                slot.live = self._open(raw)
                continue
            assert slot.live is not None
            slot.live.step([leaf[row] for leaf in done], raw, rewards[row])
            if row in ended:
                terminated, truncated = ended[row]
                self._close(slot, terminated=terminated, truncated=truncated)

    def _parse_head(self, count: int, head: bytes) -> tuple[list[EnvSlot], frozenset[int]]:
        """The slots of a step, and the rows that are reset instead; a head equal to the last one is not read again."""
        if head != self._head:
            start = wire.COUNT.size + wire.padded_size(4 * count)
            self._head_slots = [self._slots[handle] for handle in self._handles(count, memoryview(head), len(head))]
            self._head_resets = frozenset(row for row in range(count) if head[start + row])
            self._head = head
        return self._head_slots, self._head_resets

    def _handles(self, count: int, body: memoryview, size: int) -> tuple[int, ...]:
        _expect(body, size)
        handles = struct.unpack_from(f"<{count}I", body, wire.COUNT.size)
        if len(set(handles)) != count or not all(handle in self._slots for handle in handles):
            raise AgentFault(Verdict.PROTOCOL_ERROR, "a frame names an environment twice, or one that is not open")
        return handles

    @property
    def clipped(self) -> int:
        """Numbers of float actions that were clipped to the space."""
        return self._decoder.clipped

    def finish(self) -> tuple[ScriptEpisode, ...]:
        """End all open episodes unfinished, and return every episode."""
        for slot in self._slots.values():
            self._abandon(slot)
            if slot.environment is not None:
                slot.environment.close()
        return tuple(self._closed[index] for index in range(self._opened))


def _expect(body: memoryview, size: int) -> None:
    if len(body) != size:
        raise AgentFault(Verdict.PROTOCOL_ERROR, f"a frame has {len(body)} bytes where {size} belong")


def _refused(reason: str, *, over: bool) -> bytes:
    return wire.frame(wire.Op.REFUSED, canonical({"reason": reason, "over": over}))
