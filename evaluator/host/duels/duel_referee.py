"""The referee of a duel: two sandboxes, many matches at once, a clock for each side."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from evaluator import wire
from evaluator.host.duels.connection import PlayerConnection
from evaluator.host.duels.matches import MatchPool, MatchSpec, PlayedMatch
from evaluator.host.duels.rounds import BOTH, Rounds, Trouble
from evaluator.host.envs.pettingzoo_game import PettingZooGame
from evaluator.host.envs.spaces import describe
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.sandboxes.channel import AgentComplaint, ByteStream, read_json
from evaluator.host.sandboxes.sandbox import Sandbox
from evaluator.model.canonical_json import canonical
from evaluator.model.config.challenge import Limits
from evaluator.model.records.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class ConnectedPlayer:
    """One side's place: its sandbox, or why there is none."""

    sandbox: Sandbox | None = None
    """Opened, on its way to connect."""
    fault: AgentFault | None = None
    """Why it could not be opened; the side loses every match."""


@dataclass(frozen=True, kw_only=True)
class DuelSetup:
    """Everything the referee needs to play a duel."""

    game: PettingZooGame
    """The game."""
    tickets: tuple[MatchSpec, ...]
    """The matches, in order."""
    limits: Limits
    """What a player may use."""
    seats: tuple[ConnectedPlayer, ConnectedPlayer]
    """The two sides."""
    progress: Callable[[int], None] = lambda done: None
    """Called with the number of finished matches."""
    shown: Callable[[], None] = lambda: None
    """Called before a player is shown its first position."""


@dataclass(frozen=True, kw_only=True)
class DuelTally:
    """All matches of a duel, played."""

    matches: tuple[PlayedMatch, ...]
    """In the order of the tickets."""
    faults: tuple[AgentFault | None, AgentFault | None]
    """What ended a side before its last match; post-mortem included."""
    thinking: tuple[float, float]
    """Wall seconds that each side was thinking."""
    moves: tuple[int, int]
    """Moves that each side made itself."""


@dataclass(frozen=True, kw_only=True)
class PlayersReady:
    """A player that is there."""

    stream: ByteStream
    """Its channel."""
    shared: bool
    """Whether one instance plays all matches."""
    ends: bool
    """Whether it wants to hear how matches ended."""


def play_duel(contest: DuelSetup) -> DuelTally:
    """Play every match. What a player does is in the tally; whatever is raised is ours."""
    troubles: list[Trouble | None] = [seat.fault for seat in contest.seats]
    lanes = contest.game.task.lanes
    streams = _greet(contest, troubles)
    table = MatchPool(contest.game, contest.tickets, lanes.shared)
    table.prepare(lanes.shared)  # the players are busy with their imports
    ready = _both_ready(contest, streams, troubles)
    rounds: Rounds | None = None
    if ready is not None:
        lines = [PlayerConnection(one.stream, ends=one.ends) for one in ready]
        rounds = Rounds(table, lines, contest.limits, contest.progress)
        contest.shown()
        rounds.play(min(len(contest.tickets), lanes.shared if all(one.shared for one in ready) else lanes.separate))
        troubles = rounds.troubles
    faults = [_explained(seat, trouble) for seat, trouble in zip(contest.seats, troubles, strict=True)]
    out = tuple(side for side in BOTH if faults[side] is not None)
    if out:
        reasons = " and ".join(str(fault.verdict) for fault in faults if fault is not None)
        table.forfeit(out, f"could not go on: {reasons}")
        contest.progress(len(table.done))
    return DuelTally(
        matches=tuple(table.done[ticket.index] for ticket in contest.tickets),
        faults=(faults[0], faults[1]),
        thinking=rounds.thinking if rounds else (0.0, 0.0),
        moves=(rounds.moves[0], rounds.moves[1]) if rounds else (0, 0),
    )


def _greet(contest: DuelSetup, troubles: list[Trouble | None]) -> list[ByteStream | None]:
    """Wait for both sandboxes to connect, and send each its HELLO."""
    streams: list[ByteStream | None] = [None, None]
    for side, seat in enumerate(contest.seats):
        if seat.sandbox is not None and seat.fault is None:
            with _noted(troubles, side):
                stream = seat.sandbox.stream()
                deadline = time.monotonic() + contest.limits.start_seconds
                stream.send(wire.frame(wire.Op.HELLO, canonical(_hello(contest, side))), deadline)
                streams[side] = stream
    return streams


def _both_ready(
    contest: DuelSetup, streams: list[ByteStream | None], troubles: list[Trouble | None]
) -> list[PlayersReady] | None:
    """Both players' answers to HELLO; None if one is not there."""
    ready = []
    deadline = time.monotonic() + contest.limits.start_seconds
    for side, stream in enumerate(streams):
        if stream is not None:
            with _noted(troubles, side):
                ready.append(_ready(stream, deadline))
    return ready if len(ready) == len(BOTH) else None


@contextlib.contextmanager
def _noted(troubles: list[Trouble | None], side: int) -> Iterator[None]:
    try:
        yield
    except (AgentFault, SandboxClosed) as trouble:
        troubles[side] = trouble


def _hello(contest: DuelSetup, side: int) -> dict[str, Any]:
    return {
        "protocol": wire.VERSION,
        "mode": "play",
        "task_id": contest.game.task.id,
        "observation_space": describe(contest.game.observation_space),
        "action_space": describe(contest.game.action_space),
        "seed": contest.tickets[0].agent_seeds[side],
        "clock": contest.game.task.clock.model_dump(mode="json"),
    }


def _ready(stream: ByteStream, deadline: float) -> PlayersReady:
    try:
        ready = read_json(stream, wire.Op.READY, deadline)
    except AgentComplaint:
        raise
    except AgentFault as fault:
        late = "the agent was not ready in time"
        raise AgentFault(fault.verdict, late if fault.verdict is Verdict.TIMEOUT else str(fault)) from fault
    if ready.get("protocol") != wire.VERSION or not isinstance(ready.get("shared"), bool):
        raise AgentFault(Verdict.PROTOCOL_ERROR, f"the sandbox does not speak protocol {wire.VERSION}")
    return PlayersReady(stream=stream, shared=bool(ready["shared"]), ends=ready.get("ends") is True)


def _explained(seat: ConnectedPlayer, trouble: Trouble | None) -> AgentFault | None:
    """Why a side could not go on: a hangup, or a crash that a limit of the sandbox explains, is the sandbox's to tell."""
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
