"""The referee: asks the sandbox for actions, steps the environments, keeps what happened."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from evaluator import wire
from evaluator.host.envs.gym_task import GymTask
from evaluator.host.envs.recorder import PlayedEpisode
from evaluator.host.envs.spaces import IllegalActionError, describe
from evaluator.host.errors import AgentFault
from evaluator.host.sandboxes.channel import AgentComplaint, ByteStream, read_body, read_json
from evaluator.host.sandboxes.cpu_affinity import Pin, shared_processor
from evaluator.host.solo.episode_batch import EpisodeBatch, EpisodeSpec
from evaluator.model.canonical_json import canonical
from evaluator.model.config.challenge import Limits
from evaluator.model.records.verdict import Verdict

# Two cohorts overlap: while the sandbox thinks about one, the referee steps the other. Fewer lanes are not worth halving.
PAIR_FROM = 8


@dataclass(frozen=True, kw_only=True)
class SoloRun:
    """Everything the referee needs to play a task with an agent."""

    world: GymTask
    """The task's environment."""
    tickets: tuple[EpisodeSpec, ...]
    """The episodes."""
    limits: Limits
    """The deadlines."""
    progress: Callable[[int], None]
    """Called with the number of finished episodes."""
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


def play_episodes(match: SoloRun, stream: ByteStream) -> SoloOutcome:
    """Play every episode.

    Raises:
        FaultError: the agent's fault, with the verdict.
        HangupError: the sandbox is gone.
    """
    cohorts = _cohorts(match, _greet(match, stream))
    if len(cohorts) > 1:
        return _play_all(match, cohorts, stream)
    stream.spin = 0.0
    with shared_processor(match.pin_sandbox):
        return _play_all(match, cohorts, stream)


def _play_all(match: SoloRun, cohorts: list[EpisodeBatch], stream: ByteStream) -> SoloOutcome:
    done: dict[int, PlayedEpisode] = {}
    match.shown()
    for cohort in cohorts:
        _ask(match, cohort, stream)
    while any(cohort.live for cohort in cohorts):
        for cohort in cohorts:
            if not cohort.live:
                continue
            ended = _advance(match, cohort, stream)
            if cohort.live:
                _ask(match, cohort, stream)
            if ended:
                done.update(ended)
                match.progress(len(done))
    episodes = tuple(done[index] for index in range(len(match.tickets)))
    return SoloOutcome(episodes=episodes, clipped=sum(cohort.decoder.clipped for cohort in cohorts))


def _greet(match: SoloRun, stream: ByteStream) -> int:
    """Shake hands; returns how many episodes are alive at once."""
    world = match.world
    hello = {
        "protocol": wire.VERSION,
        "mode": "act",
        "task_id": world.task.id,
        "observation_space": describe(world.observation_space),
        "action_space": describe(world.action_space),
        "seed": match.tickets[0].agent_seed,
    }
    deadline = time.monotonic() + match.limits.start_seconds
    stream.send(wire.frame(wire.Op.HELLO, canonical(hello)), deadline)
    ready = _on_time(lambda: read_json(stream, wire.Op.READY, deadline), "the agent was not ready in time")
    if ready.get("protocol") != wire.VERSION or not isinstance(ready.get("shared"), bool):
        raise AgentFault(Verdict.PROTOCOL_ERROR, f"the sandbox does not speak protocol {wire.VERSION}")
    lanes = match.world.task.lanes.shared if ready["shared"] else match.world.task.lanes.separate
    fewer = ready.get("lanes", lanes)
    if type(fewer) is not int or fewer < 1:
        raise AgentFault(Verdict.PROTOCOL_ERROR, "READY asks for a number of lanes that is none")
    return min(lanes, fewer)


def _on_time(read: Callable[[], Any], late: str) -> Any:
    try:
        return read()
    except AgentComplaint:
        raise
    except AgentFault as fault:
        raise AgentFault(fault.verdict, late if fault.verdict is Verdict.TIMEOUT else str(fault)) from fault


def _cohorts(match: SoloRun, lanes: int) -> list[EpisodeBatch]:
    lanes = min(lanes, len(match.tickets))
    tickets: Iterator[EpisodeSpec] = iter(match.tickets)
    if lanes < PAIR_FROM:
        return [EpisodeBatch(match.world, tickets, range(lanes))]
    half = lanes // 2
    return [EpisodeBatch(match.world, tickets, range(half)), EpisodeBatch(match.world, tickets, range(half, lanes))]


def _ask(match: SoloRun, cohort: EpisodeBatch, stream: ByteStream) -> None:
    stream.send(cohort.question(), time.monotonic() + match.limits.answer_seconds * len(cohort.lanes))
    cohort.asked()


def _advance(match: SoloRun, cohort: EpisodeBatch, stream: ByteStream) -> list[tuple[int, PlayedEpisode]]:
    allowed = match.limits.answer_seconds * len(cohort.lanes)
    try:
        body = read_body(stream, wire.Op.ACTIONS, cohort.answer_size, time.monotonic() + allowed)
        return cohort.advance(body)
    except IllegalActionError as error:
        raise AgentFault(Verdict.PROTOCOL_ERROR, _in_episode(cohort, error.row, str(error))) from error
    except AgentComplaint as error:
        numbers = {lane.number: index for index, lane in enumerate(cohort.lanes)}
        row = None if error.lane is None else numbers.get(error.lane)
        raise AgentFault(error.verdict, _in_episode(cohort, row, str(error))) from error
    except AgentFault as fault:
        if fault.verdict is not Verdict.TIMEOUT:
            raise
        late = f"no answer within {allowed:g} s for {len(cohort.lanes)} live episodes"
        raise AgentFault(Verdict.TIMEOUT, _in_episode(cohort, None, late)) from fault


def _in_episode(cohort: EpisodeBatch, row: int | None, message: str) -> str:
    if row is None and len(cohort.lanes) == 1:
        row = 0
    return message if row is None else f"episode {cohort.lanes[row].ticket.index}: {message}"
