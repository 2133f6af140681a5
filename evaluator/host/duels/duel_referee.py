"""The referee of a duel: two sandboxes, many matches at once, a clock for each side."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from evaluator import wire
from evaluator.host.duels.connection import PlayerConnection
from evaluator.host.duels.matches import MatchPool, MatchSpec, PlayedMatch
from evaluator.host.duels.rounds import DUEL_SIDES, Rounds, Trouble
from evaluator.host.envs.pettingzoo_game import PettingZooGame
from evaluator.host.envs.spaces import describe
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.sandboxes.channel import AgentReportedFault, ByteStream, read_json
from evaluator.host.sandboxes.sandbox import Sandbox
from evaluator.model.canonical_json import canonical
from evaluator.model.config.challenge import Limits
from evaluator.model.records.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class ConnectedPlayer:
    """A player's sandbox, or why there is none."""

    sandbox: Sandbox | None = None
    """The opened sandbox."""
    fault: AgentFault | None = None
    """Why it could not be opened; the player loses every match."""


@dataclass(frozen=True, kw_only=True)
class DuelSetup:
    """What the referee needs to play a duel."""

    game: PettingZooGame
    tickets: tuple[MatchSpec, ...]
    limits: Limits
    seats: tuple[ConnectedPlayer, ConnectedPlayer]
    progress: Callable[[int], None] = lambda done: None
    """Gets the number of finished matches."""
    shown: Callable[[], None] = lambda: None
    """Called before a player is shown its first position."""


@dataclass(frozen=True, kw_only=True)
class DuelTally:
    """All played matches of a duel."""

    matches: tuple[PlayedMatch, ...]
    """In the order of the tickets."""
    faults: tuple[AgentFault | None, AgentFault | None]
    """Why a side failed before its last match."""
    thinking: tuple[float, float]
    """Wall seconds of thinking of each side."""
    moves: tuple[int, int]
    """Moves of each side, without openings."""


@dataclass(frozen=True, kw_only=True)
class PlayersReady:
    """A player that has sent READY."""

    stream: ByteStream
    shared: bool
    """Whether one instance plays all matches."""
    ends: bool
    """Whether it wants to be told how matches end."""


def play_duel(setup: DuelSetup) -> DuelTally:
    """Play every match. Players' faults are in the tally; an exception is a failure of ours."""
    troubles: list[Trouble | None] = [seat.fault for seat in setup.seats]
    lanes = setup.game.task.lanes
    streams = _send_hello(setup, troubles)
    pool = MatchPool(setup.game, setup.tickets, lanes.shared)
    pool.prepare(lanes.shared)  # while the players import their code
    ready = _await_ready(setup, streams, troubles)
    rounds: Rounds | None = None
    if ready is not None:
        connections = [PlayerConnection(player.stream, ends=player.ends) for player in ready]
        rounds = Rounds(pool, connections, setup.limits, setup.progress)
        setup.shown()
        rounds.play(min(len(setup.tickets), lanes.shared if all(player.shared for player in ready) else lanes.separate))
        troubles = rounds.troubles
    faults = [_final_fault(seat, trouble) for seat, trouble in zip(setup.seats, troubles, strict=True)]
    out = tuple(side for side in DUEL_SIDES if faults[side] is not None)
    if out:
        reasons = " and ".join(str(fault.verdict) for fault in faults if fault is not None)
        pool.forfeit(out, f"could not go on: {reasons}")
        setup.progress(len(pool.done))
    return DuelTally(
        matches=tuple(pool.done[ticket.index] for ticket in setup.tickets),
        faults=(faults[0], faults[1]),
        thinking=rounds.thinking if rounds else (0.0, 0.0),
        moves=(rounds.moves[0], rounds.moves[1]) if rounds else (0, 0),
    )


def _send_hello(setup: DuelSetup, troubles: list[Trouble | None]) -> list[ByteStream | None]:
    """Wait for both sandboxes to connect, and send each its HELLO."""
    streams: list[ByteStream | None] = [None, None]
    for side, seat in enumerate(setup.seats):
        if seat.sandbox is not None and seat.fault is None:
            with _collect_trouble(troubles, side):
                stream = seat.sandbox.stream()
                deadline = time.monotonic() + setup.limits.start_seconds
                stream.send(wire.frame(wire.Op.HELLO, canonical(_hello(setup, side))), deadline)
                streams[side] = stream
    return streams


def _await_ready(
    setup: DuelSetup, streams: list[ByteStream | None], troubles: list[Trouble | None]
) -> list[PlayersReady] | None:
    """Both players' READY; None if one is missing."""
    ready = []
    deadline = time.monotonic() + setup.limits.start_seconds
    for side, stream in enumerate(streams):
        if stream is not None:
            with _collect_trouble(troubles, side):
                ready.append(_read_ready(stream, deadline))
    return ready if len(ready) == len(DUEL_SIDES) else None


@contextlib.contextmanager
def _collect_trouble(troubles: list[Trouble | None], side: int) -> Iterator[None]:
    try:
        yield
    except (AgentFault, SandboxClosed) as trouble:
        troubles[side] = trouble


def _hello(setup: DuelSetup, side: int) -> dict[str, Any]:
    return {
        "protocol": wire.VERSION,
        "mode": "play",
        "task_id": setup.game.task.id,
        "observation_space": describe(setup.game.observation_space),
        "action_space": describe(setup.game.action_space),
        "seed": setup.tickets[0].agent_seeds[side],
        "clock": setup.game.task.clock.model_dump(mode="json"),
    }


def _read_ready(stream: ByteStream, deadline: float) -> PlayersReady:
    try:
        ready = read_json(stream, wire.Op.READY, deadline)
    except AgentReportedFault:
        raise
    except AgentFault as fault:
        late = "the agent was not ready in time"
        raise AgentFault(fault.verdict, late if fault.verdict is Verdict.TIMEOUT else str(fault)) from fault
    if ready.get("protocol") != wire.VERSION or not isinstance(ready.get("shared"), bool):
        raise AgentFault(Verdict.PROTOCOL_ERROR, f"the sandbox does not speak protocol {wire.VERSION}")
    return PlayersReady(stream=stream, shared=bool(ready["shared"]), ends=ready.get("ends") is True)


def _final_fault(seat: ConnectedPlayer, trouble: Trouble | None) -> AgentFault | None:
    """Why a side failed. For a closed connection, or a crash, the sandbox may know more."""
    if trouble is None or seat.sandbox is None:
        return seat.fault
    if isinstance(trouble, AgentFault) and trouble.verdict is Verdict.TIMEOUT:
        seat.sandbox.end()
    elif isinstance(trouble, SandboxClosed):
        return seat.sandbox.post_mortem()
    elif trouble.verdict is Verdict.CRASHED:
        worse = seat.sandbox.post_mortem()
        return trouble if worse.verdict is Verdict.CRASHED else worse
    return trouble
