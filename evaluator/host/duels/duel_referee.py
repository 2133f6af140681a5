"""The referee of a duel: two sandboxes, many matches at once, a clock for each side."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evaluator.host.duels.connection import PlayerConnection
from evaluator.host.duels.matches import MatchPool, MatchSpec, PlayedMatch
from evaluator.host.duels.rounds import DUEL_SIDES, Rounds, Trouble
from evaluator.host.envs.pettingzoo_game import PettingZooGame
from evaluator.host.envs.spaces import describe
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.progress import ReportProgress
from evaluator.host.sandboxes.channel import ByteStream
from evaluator.host.sandboxes.handshake import Hello, Ready
from evaluator.host.sandboxes.sandbox import Sandbox
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
    progress: ReportProgress = lambda progress: None
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


def play_duel(setup: DuelSetup) -> DuelTally:
    """Play every match. Players' faults are in the tally; an exception is a failure of ours."""
    troubles: list[Trouble | None] = [seat.fault for seat in setup.seats]
    lanes = setup.game.task.lanes
    streams = _connect(setup, troubles)
    pool = MatchPool(setup.game, setup.tickets, lanes.shared)
    pool.prepare(lanes.shared)  # while the players import their code
    ready = _await_ready(setup, streams, troubles)
    rounds: Rounds | None = None
    if len(ready) == len(DUEL_SIDES):
        connections = [PlayerConnection(stream, ends=player.ends) for stream, player in ready]
        rounds = Rounds(pool, connections, setup.limits, setup.progress)
        for seat in setup.seats:
            if seat.sandbox is not None:
                seat.sandbox.limit_share()
        setup.shown()
        rounds.play(min(len(setup.tickets), lanes.shared if all(player.shared for _, player in ready) else lanes.separate))
        troubles = rounds.troubles
    faults = [_final_fault(seat, trouble) for seat, trouble in zip(setup.seats, troubles, strict=True)]
    out = tuple(side for side in DUEL_SIDES if faults[side] is not None)
    if out:
        reasons = " and ".join(str(fault.verdict) for fault in faults if fault is not None)
        pool.forfeit(out, f"could not go on: {reasons}")
    return DuelTally(
        matches=tuple(pool.done[ticket.index] for ticket in setup.tickets),
        faults=(faults[0], faults[1]),
        thinking=rounds.thinking if rounds else (0.0, 0.0),
        moves=(rounds.moves[0], rounds.moves[1]) if rounds else (0, 0),
    )


def _connect(setup: DuelSetup, troubles: list[Trouble | None]) -> list[ByteStream | None]:
    """Begin the handshake: wait for both sandboxes to connect, and send each its HELLO."""
    streams: list[ByteStream | None] = [None, None]
    task = setup.game.task
    for side, seat in enumerate(setup.seats):
        if seat.sandbox is not None and seat.fault is None:
            with _collect_trouble(troubles, side):
                stream = seat.sandbox.stream()
                hello = Hello(
                    mode="play",
                    task_id=task.id,
                    observation_space=describe(setup.game.observation_space),
                    action_space=describe(setup.game.action_space),
                    seed=setup.tickets[0].agent_seeds[side],
                )
                hello.send(stream, setup.limits.start_seconds, clock=task.clock.model_dump(mode="json"))
                streams[side] = stream
    return streams


def _await_ready(
    setup: DuelSetup, streams: list[ByteStream | None], troubles: list[Trouble | None]
) -> list[tuple[ByteStream, Ready]]:
    """End the handshake: each player that is ready."""
    ready = []
    deadline = time.monotonic() + setup.limits.start_seconds
    for side, stream in enumerate(streams):
        if stream is not None:
            with _collect_trouble(troubles, side):
                ready.append((stream, Ready.read(stream, deadline)))
    return ready


@contextlib.contextmanager
def _collect_trouble(troubles: list[Trouble | None], side: int) -> Iterator[None]:
    try:
        yield
    except (AgentFault, SandboxClosed) as trouble:
        troubles[side] = trouble


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
