"""The referee of one agent: asks the sandbox for actions, steps batches of environments and records the episodes."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium

from evaluator import wire
from evaluator.host.envs.episode_recorder import EpisodeRecorder, PlayedEpisode, most_steps, too_many_steps
from evaluator.host.envs.gym_task import GymTask
from evaluator.host.envs.spaces import ActionDecoder, IllegalActionError, ObservationEncoder, padded_leaves
from evaluator.host.errors import AgentFault
from evaluator.host.progress import REPORT_SECONDS, REPORT_STEPS, PlayProgress, ReportProgress
from evaluator.host.sandboxes.channel import AgentReportedFault, ByteStream, read_body
from evaluator.host.sandboxes.handshake import Hello, Ready
from evaluator.host.sandboxes.sandbox import Pin, shared_processor
from evaluator.model.config.limits import Limits
from evaluator.model.records.verdict import Verdict

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
class Lane:
    """One episode after the other is played on it."""

    number: int
    """Its number in frames."""
    spec: EpisodeSpec
    environment: gymnasium.Env[Any, Any]
    starts: bool
    """Whether its next frame is the episode's first."""
    limit: int
    """The frame at which the time limit truncates it."""
    begun: int
    """The frame at which its episode began."""
    clipped: int = 0


class EpisodeBatch:
    """A set of lanes and the episodes that are live on them."""

    def __init__(self, gym_task: GymTask, specs: Iterator[EpisodeSpec], lanes: range) -> None:
        self._gym_task = gym_task
        self._waiting = specs
        self._encoder: ObservationEncoder = gym_task.encoder()
        self.decoder: ActionDecoder = gym_task.decoder()
        self._frame = 0
        self.lanes: list[Lane] = []
        self._observations: list[Any] = []
        for number in lanes:
            if (spec := next(specs, None)) is not None:
                self._open(number, spec, gym_task.make())
        self._recorder = EpisodeRecorder(len(self.lanes), self._encoder.leaves, self.decoder.leaves)
        for index, observation in enumerate(self._observations):
            self._recorder.begin(index, self._encoder.encode([observation]))
        self._prepare_frame()

    def _open(self, number: int, spec: EpisodeSpec, environment: gymnasium.Env[Any, Any]) -> None:
        limit = self._frame + self._gym_task.time_limit if self._gym_task.time_limit else NO_LIMIT_FRAME
        self.lanes.append(Lane(number, spec, environment, True, limit, self._frame))
        self._observations.append(self._gym_task.start(environment, spec.seed))

    def _prepare_frame(self) -> None:
        """Update what frames need from the lanes."""
        self._steps = [lane.environment.step for lane in self.lanes]
        self._next_limit = min((lane.limit for lane in self.lanes), default=NO_LIMIT_FRAME)
        self._encoded = self._encoder.encode(self._observations) if self.lanes else []
        self._head = self._make_head()
        self.answer_size = wire.body_size(self.decoder.leaves, len(self.lanes))

    def _make_head(self) -> bytes:
        return wire.act_head([(lane.number, lane.starts, lane.spec.agent_seed) for lane in self.lanes])

    @property
    def live(self) -> bool:
        """Whether any episode is live."""
        return bool(self.lanes)

    def ages(self) -> list[int]:
        """The steps of each live episode so far."""
        return [self._frame - lane.begun for lane in self.lanes]

    def question(self) -> bytes:
        """The ACT frame about all live episodes."""
        return wire.frame(wire.Op.ACT, self._head, *padded_leaves(self._encoded))

    def note_asked(self) -> None:
        """Note that the question was sent: no lane starts an episode any more."""
        if any(lane.starts for lane in self.lanes):
            for lane in self.lanes:
                lane.starts = False
            self._head = self._make_head()

    def row_in_words(self, row: int) -> str:
        """The episode on a lane and how many steps it has behind it, in words."""
        lane = self.lanes[row]
        return f"episode {lane.spec.index}, step {self._frame - lane.begun}"

    def advance(self, body: memoryview) -> list[tuple[int, PlayedEpisode]]:
        """Step every live episode with the answered actions; returns those that ended, with their index.

        Raises:
            IllegalActionError: an action is not in the space; no environment was stepped.
        """
        actions, arrays = self.decoder.decode(body, len(self.lanes))
        if self.decoder.clipped_rows:
            for lane, count in zip(self.lanes, self.decoder.clipped_rows, strict=True):
                lane.clipped += count
        observations: list[Any] = []
        rewards: list[Any] = []
        ended: dict[int, tuple[bool, bool]] = {}
        add_observation, add_reward = observations.append, rewards.append
        for step, action in zip(self._steps, actions, strict=True):
            observation, reward, terminated, truncated, _ = step(action)
            add_observation(observation)
            add_reward(reward)
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
        return self._replace_ended(ended) if ended else []

    def _replace_ended(self, ended: dict[int, tuple[bool, bool]]) -> list[tuple[int, PlayedEpisode]]:
        """Close ended episodes and start waiting ones on their lanes; lanes without a waiting episode are dropped."""
        self._recorder.flush()
        finished = []
        kept = []
        for index, lane in enumerate(self.lanes):
            if index in ended:
                terminated, truncated = ended[index]
                open_episode = self._recorder.lanes[index]
                played = open_episode.close(terminated=terminated, truncated=truncated, clipped=lane.clipped)
                finished.append((lane.spec.index, played))
                if not self._renew(index, lane):
                    continue
            kept.append(index)
        if len(kept) < len(self.lanes):
            self.lanes = [self.lanes[index] for index in kept]
            self._observations = [self._observations[index] for index in kept]
            self._recorder = self._recorder.for_lanes(kept)
        self._prepare_frame()
        return finished

    def _renew(self, index: int, lane: Lane) -> bool:
        spec = next(self._waiting, None)
        if spec is None or not self._gym_task.task.reusable:
            lane.environment.close()
        if spec is None:
            return False
        if not self._gym_task.task.reusable:
            lane.environment = self._gym_task.make()
        lane.spec, lane.starts, lane.begun, lane.clipped = spec, True, self._frame, 0
        lane.limit = self._frame + self._gym_task.time_limit if self._gym_task.time_limit else NO_LIMIT_FRAME
        observation = self._gym_task.start(lane.environment, spec.seed)
        self._observations[index] = observation
        self._recorder.begin(index, self._encoder.encode([observation]))
        return True


# From this many lanes on there are two batches: while the agent thinks about one, the referee steps the other.
MIN_LANES_FOR_TWO = 8


@dataclass(frozen=True, kw_only=True)
class SoloSetup:
    """What the referee needs to play a task with an agent."""

    gym_task: GymTask
    specs: tuple[EpisodeSpec, ...]
    limits: Limits
    progress: ReportProgress
    pin_sandbox: Pin = lambda processor: None
    before_first_observation: Callable[[], None] = lambda: None
    recorded: Mapping[int, PlayedEpisode] = field(default_factory=dict)
    """Episodes that an interrupted attempt finished, by number: they are not played again."""
    keep: Callable[[int, PlayedEpisode], None] = lambda number, episode: None


def play_episodes(run: SoloSetup, stream: ByteStream) -> tuple[PlayedEpisode, ...]:
    """Play every episode; returns them in the order of their seeds.

    Raises:
        AgentFault: the agent failed; it holds the verdict.
        SandboxClosed: the sandbox closed the connection.
    """
    batches = _make_batches(run, _handshake(run, stream))
    if len(batches) > 1:
        return _play_batches(run, batches, stream)
    stream.spin = 0.0
    with shared_processor(run.pin_sandbox):
        return _play_batches(run, batches, stream)


def _play_batches(run: SoloSetup, batches: list[EpisodeBatch], stream: ByteStream) -> tuple[PlayedEpisode, ...]:
    done: dict[int, PlayedEpisode] = dict(run.recorded)
    steps = reported = sum(episode.length for episode in done.values())
    next_report, most = 0.0, most_steps(batches[0].decoder.leaves)
    run.before_first_observation()
    for batch in batches:
        _ask(run, batch, stream)
    while any(batch.live for batch in batches):
        for batch in batches:
            if not batch.live:
                continue
            steps += len(batch.lanes)
            if steps > most:
                raise too_many_steps()
            ended = _advance(run, batch, stream)
            if batch.live:
                _ask(run, batch, stream)
            done.update(ended)
            for number, episode in ended:
                run.keep(number, episode)
            if not ended and steps - reported < REPORT_STEPS:
                continue
            now = time.monotonic()
            if now >= next_report or len(done) == len(run.specs):
                reported, next_report = steps, now + REPORT_SECONDS
                run.progress(_progress(run, batches, done, steps))
    return tuple(done[index] for index in range(len(run.specs)))


def _progress(run: SoloSetup, batches: list[EpisodeBatch], done: dict[int, PlayedEpisode], steps: int) -> PlayProgress:
    """How far it is.

    The mean length of an episode is estimated as all steps over the episodes that have ended, as for an exponential
    distribution of which some lengths are not yet known: short ones end first. No episode is longer than it may be.
    """
    total, limit = len(run.specs), run.gym_task.time_limit or math.inf
    ages = [age for batch in batches for age in batch.ages()]
    mean = steps / len(done) if done else float(run.gym_task.time_limit or REPORT_STEPS)
    left = sum(min(mean, limit - age) for age in ages) + (total - len(done) - len(ages)) * min(mean, limit)
    scores = [episode.total for episode in done.values()]
    return PlayProgress(done=len(done), total=total, steps=steps, share=steps / (steps + left), scores=scores)


def _handshake(run: SoloSetup, stream: ByteStream) -> int:
    """Exchange HELLO and READY; returns the number of lanes."""
    hello = Hello(mode="act", seed=run.specs[0].agent_seed, **run.gym_task.hello_fields())
    seconds = run.limits.start_seconds
    ready = Ready.read(stream, hello.send(stream, seconds), seconds)
    if type(ready.lanes) is not int or ready.lanes < 1:
        raise AgentFault(Verdict.PROTOCOL_ERROR, "READY asks for lanes that are no whole number of at least 1")
    lanes = run.gym_task.task.lanes
    return min(lanes.shared if ready.shared else lanes.separate, ready.lanes)


def _make_batches(run: SoloSetup, lanes: int) -> list[EpisodeBatch]:
    left = [spec for spec in run.specs if spec.index not in run.recorded]
    lanes = min(lanes, len(left))
    specs: Iterator[EpisodeSpec] = iter(left)
    if lanes < MIN_LANES_FOR_TWO:
        return [EpisodeBatch(run.gym_task, specs, range(lanes))]
    half = lanes // 2
    return [EpisodeBatch(run.gym_task, specs, range(half)), EpisodeBatch(run.gym_task, specs, range(half, lanes))]


def _ask(run: SoloSetup, batch: EpisodeBatch, stream: ByteStream) -> None:
    stream.send(batch.question(), time.monotonic() + run.limits.answer_seconds * len(batch.lanes))
    batch.note_asked()


def _advance(run: SoloSetup, batch: EpisodeBatch, stream: ByteStream) -> list[tuple[int, PlayedEpisode]]:
    allowed = run.limits.answer_seconds * len(batch.lanes)
    try:
        body = read_body(stream, wire.Op.ACTIONS, batch.answer_size, time.monotonic() + allowed)
        return batch.advance(body)
    except IllegalActionError as error:
        raise AgentFault(Verdict.PROTOCOL_ERROR, _in_episode(batch, error.row, str(error))) from error
    except AgentReportedFault as error:
        numbers = {lane.number: index for index, lane in enumerate(batch.lanes)}
        row = None if error.lane is None else numbers.get(error.lane)
        raise AgentFault(error.verdict, _in_episode(batch, row, str(error)), error.trace) from error
    except AgentFault as fault:
        if fault.verdict is not Verdict.TIMEOUT:
            raise
        raise AgentFault(Verdict.TIMEOUT, _in_episode(batch, None, _late(run.limits, len(batch.lanes)))) from fault


def _in_episode(batch: EpisodeBatch, row: int | None, message: str) -> str:
    if row is None and len(batch.lanes) == 1:
        row = 0
    return message if row is None else f"{batch.row_in_words(row)}: {message}"


def _late(limits: Limits, count: int) -> str:
    if count == 1:
        return f"no answer within {limits.answer_seconds:g} s; do less in each step"
    seconds = limits.answer_seconds
    late = f"no answer within {seconds * count:g} s, {seconds:g} s for each of {count} live episodes"
    return f"{late}; do less in each step, or answer all at once in act_batch"
