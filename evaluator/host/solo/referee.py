"""The referee of one agent: asks the sandbox for actions, steps the environments and records the episodes."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from evaluator import wire
from evaluator.host.envs.gym_task import GymTask
from evaluator.host.envs.recorder import PlayedEpisode
from evaluator.host.envs.spaces import IllegalActionError, describe
from evaluator.host.errors import AgentFault
from evaluator.host.sandboxes.channel import AgentReportedFault, ByteStream, read_body, read_json
from evaluator.host.sandboxes.cpu_affinity import Pin, shared_processor
from evaluator.host.solo.episode_batch import EpisodeBatch, EpisodeSpec
from evaluator.model.canonical_json import canonical
from evaluator.model.config.challenge import Limits
from evaluator.model.records.verdict import Verdict

# From so many lanes on there are two batches: while the agent thinks about one, the referee steps the other.
MIN_LANES_FOR_TWO = 8


@dataclass(frozen=True, kw_only=True)
class SoloRun:
    """What the referee needs to play a task with an agent."""

    world: GymTask
    tickets: tuple[EpisodeSpec, ...]
    limits: Limits
    progress: Callable[[int], None]
    """Gets the number of finished episodes."""
    pin_sandbox: Pin = lambda processor: None
    """Keeps the sandbox on a processor."""
    shown: Callable[[], None] = lambda: None
    """Called before the agent is shown its first observation."""


@dataclass(frozen=True, kw_only=True)
class SoloOutcome:
    """All episodes of a task, played."""

    episodes: tuple[PlayedEpisode, ...]
    """In the order of their seeds."""
    clipped: int
    """Numbers of float actions that were clipped to the space."""


def play_episodes(run: SoloRun, stream: ByteStream) -> SoloOutcome:
    """Play every episode.

    Raises:
        AgentFault: the agent failed; it holds the verdict.
        SandboxClosed: the sandbox closed the connection.
    """
    batches = _make_batches(run, _shake_hands(run, stream))
    if len(batches) > 1:
        return _play_batches(run, batches, stream)
    stream.spin = 0.0
    with shared_processor(run.pin_sandbox):
        return _play_batches(run, batches, stream)


def _play_batches(run: SoloRun, batches: list[EpisodeBatch], stream: ByteStream) -> SoloOutcome:
    done: dict[int, PlayedEpisode] = {}
    run.shown()
    for batch in batches:
        _ask(run, batch, stream)
    while any(batch.live for batch in batches):
        for batch in batches:
            if not batch.live:
                continue
            ended = _advance(run, batch, stream)
            if batch.live:
                _ask(run, batch, stream)
            if ended:
                done.update(ended)
                run.progress(len(done))
    episodes = tuple(done[index] for index in range(len(run.tickets)))
    return SoloOutcome(episodes=episodes, clipped=sum(batch.decoder.clipped for batch in batches))


def _shake_hands(run: SoloRun, stream: ByteStream) -> int:
    """Exchange HELLO and READY; returns the number of lanes."""
    world = run.world
    hello = {
        "protocol": wire.VERSION,
        "mode": "act",
        "task_id": world.task.id,
        "observation_space": describe(world.observation_space),
        "action_space": describe(world.action_space),
        "seed": run.tickets[0].agent_seed,
    }
    deadline = time.monotonic() + run.limits.start_seconds
    stream.send(wire.frame(wire.Op.HELLO, canonical(hello)), deadline)
    ready = _read_in_time(lambda: read_json(stream, wire.Op.READY, deadline), "the agent was not ready in time")
    if ready.get("protocol") != wire.VERSION or not isinstance(ready.get("shared"), bool):
        raise AgentFault(Verdict.PROTOCOL_ERROR, f"the sandbox does not speak protocol {wire.VERSION}")
    lanes = run.world.task.lanes.shared if ready["shared"] else run.world.task.lanes.separate
    fewer = ready.get("lanes", lanes)
    if type(fewer) is not int or fewer < 1:
        raise AgentFault(Verdict.PROTOCOL_ERROR, "READY asks for a number of lanes that is none")
    return min(lanes, fewer)


def _read_in_time(read: Callable[[], Any], late: str) -> Any:
    try:
        return read()
    except AgentReportedFault:
        raise
    except AgentFault as fault:
        raise AgentFault(fault.verdict, late if fault.verdict is Verdict.TIMEOUT else str(fault)) from fault


def _make_batches(run: SoloRun, lanes: int) -> list[EpisodeBatch]:
    lanes = min(lanes, len(run.tickets))
    tickets: Iterator[EpisodeSpec] = iter(run.tickets)
    if lanes < MIN_LANES_FOR_TWO:
        return [EpisodeBatch(run.world, tickets, range(lanes))]
    half = lanes // 2
    return [EpisodeBatch(run.world, tickets, range(half)), EpisodeBatch(run.world, tickets, range(half, lanes))]


def _ask(run: SoloRun, batch: EpisodeBatch, stream: ByteStream) -> None:
    stream.send(batch.question(), time.monotonic() + run.limits.answer_seconds * len(batch.lanes))
    batch.asked()


def _advance(run: SoloRun, batch: EpisodeBatch, stream: ByteStream) -> list[tuple[int, PlayedEpisode]]:
    allowed = run.limits.answer_seconds * len(batch.lanes)
    try:
        body = read_body(stream, wire.Op.ACTIONS, batch.answer_size, time.monotonic() + allowed)
        return batch.advance(body)
    except IllegalActionError as error:
        raise AgentFault(Verdict.PROTOCOL_ERROR, _in_episode(batch, error.row, str(error))) from error
    except AgentReportedFault as error:
        numbers = {lane.number: index for index, lane in enumerate(batch.lanes)}
        row = None if error.lane is None else numbers.get(error.lane)
        raise AgentFault(error.verdict, _in_episode(batch, row, str(error))) from error
    except AgentFault as fault:
        if fault.verdict is not Verdict.TIMEOUT:
            raise
        late = f"no answer within {allowed:g} s for {len(batch.lanes)} live episodes"
        raise AgentFault(Verdict.TIMEOUT, _in_episode(batch, None, late)) from fault


def _in_episode(batch: EpisodeBatch, row: int | None, message: str) -> str:
    if row is None and len(batch.lanes) == 1:
        row = 0
    return message if row is None else f"episode {batch.lanes[row].ticket.index}: {message}"
