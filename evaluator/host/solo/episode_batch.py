"""Batches of episodes that advance together, one frame for all of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium

from evaluator import wire
from evaluator.host.envs.gym_task import GymTask
from evaluator.host.envs.recorder import EpisodeRecorder, PlayedEpisode
from evaluator.host.envs.spaces import ActionDecoder, ObservationEncoder

# The frame of a time limit that is never reached.
NO_LIMIT_FRAME = 1 << 62


@dataclass(frozen=True, kw_only=True)
class EpisodeSpec:
    """An episode that waits for a lane."""

    index: int
    """Its place among the task's episodes."""
    seed: str
    """The environment's seed, 32 hex digits."""
    agent_seed: int


@dataclass(slots=True)
class Slot:
    """A lane, on which one episode after the other is played."""

    number: int
    """The lane's number in frames."""
    ticket: EpisodeSpec
    environment: gymnasium.Env[Any, Any]
    starts: bool
    """Whether its next frame is the episode's first."""
    limit: int
    """The frame at which the time limit truncates it."""


class EpisodeBatch:
    """A set of lanes and the episodes that are live on them."""

    def __init__(self, world: GymTask, tickets: Iterator[EpisodeSpec], lanes: range) -> None:
        self._world = world
        self._tickets = tickets
        self._encoder: ObservationEncoder = world.encoder()
        self.decoder: ActionDecoder = world.decoder()
        self._frame = 0
        self.lanes: list[Slot] = []
        self._observations: list[Any] = []
        for number in lanes:
            if (ticket := next(tickets, None)) is not None:
                self._open(number, ticket, world.make())
        self._recorder = EpisodeRecorder(len(self.lanes), self._encoder.leaves, self.decoder.leaves)
        for index, observation in enumerate(self._observations):
            self._recorder.begin(index, self._encoder.encode([observation]))
        self._settle()

    def _open(self, number: int, ticket: EpisodeSpec, environment: gymnasium.Env[Any, Any]) -> None:
        limit = self._frame + self._world.time_limit if self._world.time_limit else NO_LIMIT_FRAME
        self.lanes.append(Slot(number, ticket, environment, True, limit))
        self._observations.append(self._world.start(environment, ticket.seed))

    def _settle(self) -> None:
        """Update what frames need from the lanes."""
        self._steps = [lane.environment.step for lane in self.lanes]
        self._next_limit = min((lane.limit for lane in self.lanes), default=NO_LIMIT_FRAME)
        self._encoded = self._encoder.encode(self._observations) if self.lanes else []
        self._head = self._make_head()
        self.answer_size = wire.body_size(self.decoder.leaves, len(self.lanes))

    def _make_head(self) -> bytes:
        return wire.act_head([(lane.number, lane.starts, lane.ticket.agent_seed) for lane in self.lanes])

    @property
    def live(self) -> bool:
        """Whether any episode is live."""
        return bool(self.lanes)

    def question(self) -> bytes:
        """The ACT frame about all live episodes."""
        parts = [self._head]
        for raw in self._encoded:
            parts.append(raw)
            if len(raw) % wire.ALIGNMENT:
                parts.append(wire.padding(len(raw)))
        return wire.frame(wire.Op.ACT, *parts)

    def asked(self) -> None:
        """Note that the question was sent: no lane starts an episode any more."""
        if any(lane.starts for lane in self.lanes):
            for lane in self.lanes:
                lane.starts = False
            self._head = self._make_head()

    def advance(self, body: memoryview) -> list[tuple[int, PlayedEpisode]]:
        """Step every live episode with the answered actions; returns those that ended, with their index.

        Raises:
            IllegalActionError: an action is not in the space; no environment was stepped.
        """
        actions, arrays = self.decoder.decode(body, len(self.lanes))
        observations: list[Any] = []
        rewards: list[Any] = []
        ended: dict[int, tuple[bool, bool]] = {}
        see, earn = observations.append, rewards.append
        for step, action in zip(self._steps, actions, strict=True):
            observation, reward, terminated, truncated, _ = step(action)
            see(observation)
            earn(reward)
            if terminated or truncated:
                ended[len(rewards) - 1] = (bool(terminated), bool(truncated))
        self._frame += 1
        if self._frame >= self._next_limit:
            for index, lane in enumerate(self.lanes):
                if lane.limit <= self._frame:
                    ended[index] = (ended.get(index, (False, False))[0], True)
        self._observations = observations
        self._encoded = self._encoder.encode(observations)
        self._recorder.step(self._encoded, arrays, rewards)
        return self._turn_over(ended) if ended else []

    def _turn_over(self, ended: dict[int, tuple[bool, bool]]) -> list[tuple[int, PlayedEpisode]]:
        """Close ended episodes and start waiting ones on their lanes; lanes without a waiting episode are dropped."""
        self._recorder.deal()
        finished = []
        kept = []
        for index, lane in enumerate(self.lanes):
            if index in ended:
                terminated, truncated = ended[index]
                played = self._recorder.finish(index, terminated=terminated, truncated=truncated)
                finished.append((lane.ticket.index, played))
                if not self._renew(index, lane):
                    continue
            kept.append(index)
        if len(kept) < len(self.lanes):
            self.lanes = [self.lanes[index] for index in kept]
            self._observations = [self._observations[index] for index in kept]
            self._recorder = self._recorder.only(kept)
        self._settle()
        return finished

    def _renew(self, index: int, lane: Slot) -> bool:
        ticket = next(self._tickets, None)
        if ticket is None or not self._world.task.reusable:
            lane.environment.close()
        if ticket is None:
            return False
        if not self._world.task.reusable:
            lane.environment = self._world.make()
        lane.ticket, lane.starts = ticket, True
        lane.limit = self._frame + self._world.time_limit if self._world.time_limit else NO_LIMIT_FRAME
        observation = self._world.start(lane.environment, ticket.seed)
        self._observations[index] = observation
        self._recorder.begin(index, self._encoder.encode([observation]))
        return True
