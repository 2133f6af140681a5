"""The referee of a duel: two sandboxes, many matches at once, a clock for each side.

While one side's answer is stepped, the other side thinks about other matches. Answers are processed in the order of the
questions, whenever they arrive. So the frames depend on the moves alone, and a player that draws from one generator for all
matches makes the same moves when the duel is repeated.
"""

import contextlib
import select
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluator import wire
from evaluator.host.attempts.attempt import prefer_specific
from evaluator.host.duels.connection import PlayerConnection
from evaluator.host.duels.match_pool import (
    LiveMatch,
    MatchPool,
    MatchSpec,
    PlayedMatch,
    act_body,
    illegal_move_message,
    malformed_move_message,
    over_body,
)
from evaluator.host.envs.pettingzoo_game import MASK, PettingZooGame
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.progress import PlayProgress, ReportProgress
from evaluator.host.sandboxes.channel import TICK_SECONDS, AgentReportedFault, ByteStream
from evaluator.host.sandboxes.handshake import Hello, Ready
from evaluator.host.sandboxes.sandbox import Sandbox
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import ClockSettings
from evaluator.model.records.duel_record import SIDES, MatchEnd
from evaluator.model.records.verdict import Verdict


class SideClock:
    """One player's clock for all matches of a duel."""

    def __init__(self, settings: ClockSettings, side: int, wall_seconds: float, now: Callable[[], float]) -> None:
        self._move, self._side, self._now = settings.move_seconds, side, now
        self._wall = wall_seconds
        self._begun = 0.0
        self._asked_about = 1
        self._answered: float | None = None
        self.thinking = 0.0
        self.deadline = 0.0

    def start(self, matches: Sequence[LiveMatch]) -> None:
        """Start: a frame about these matches was sent."""
        self._begun, self._answered = self._now(), None
        self._asked_about = len(matches)
        self._set_deadline(matches)

    def _set_deadline(self, matches: Sequence[LiveMatch]) -> None:
        """Set the time at which the next match is lost if no answer comes."""
        side = self._side
        smallest = min((match.banks[side] for match in matches if not match.over), default=0.0)
        until_late = self._asked_about * (self._move + smallest)
        self.deadline = self._begun + min(until_late, self._wall - self.thinking)

    def is_used_up(self) -> bool:
        """Whether the thinking time for the whole duel is used up, including the open frame."""
        return self.thinking + (self._now() - self._begun) >= self._wall

    def take_late(self, matches: Sequence[LiveMatch]) -> list[LiveMatch]:
        """The matches whose time has run out without an answer; the deadline moves to the next match."""
        beyond = (self._now() - self._begun) / self._asked_about - self._move
        late = [match for match in matches if not match.over and match.banks[self._side] <= beyond]
        self._set_deadline([match for match in matches if match not in late])
        return late

    def note_arrival(self) -> None:
        """Stop the time: the answer arrived, though it is processed later."""
        self._answered = self._now()

    def charge_answer(self, matches: Sequence[LiveMatch]) -> tuple[int, list[LiveMatch]]:
        """Process the answer: the milliseconds charged for each position, and the matches for which it came too late."""
        seconds = self._seconds()
        self.thinking += seconds
        share = seconds / self._asked_about
        beyond = share - self._move
        late = []
        if beyond > 0:
            for match in matches:
                match.banks[self._side] -= beyond
                if match.banks[self._side] < 0 and not match.over:
                    late.append(match)
        return round(share * 1000), late

    def abandon(self) -> None:
        """Drop the open frame, whether its answer arrived or not."""
        self.thinking += self._seconds()

    def _seconds(self) -> float:
        return (self._now() if self._answered is None else self._answered) - self._begun


# After one side has failed, seconds in which a failure of the other side still counts as one too.
GRACE_SECONDS = 1.0
# Seconds for a player to be told how its last matches ended.
END_SECONDS = 1.0
# JSON has no exact integers beyond this; a larger number is no move at all.
MAX_EXACT_INTEGER = 2**53 - 1
# Matches stepped between two checks for an answer.
STEPS_BETWEEN_READS = 16

PlayerFailure = AgentFault | SandboxClosed
Array = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Question:
    """A frame whose answer is awaited."""

    matches: list[LiveMatch]
    """The matches it asks about, in order."""
    leaves: list[bytes]


class MatchLoop:
    """Plays the matches of a pool until all are done or a side fails."""

    def __init__(
        self, pool: MatchPool, connections: Sequence[PlayerConnection], limits: Limits, progress: ReportProgress
    ) -> None:
        self._pool, self._connections, self._progress = pool, connections, progress
        self._clock_settings = pool.game.task.clock
        self._clocks = [SideClock(self._clock_settings, side, limits.wall_seconds, time.monotonic) for side in SIDES]
        self._wall = limits.wall_seconds
        self._due: list[list[LiveMatch]] = [[], []]
        self._questions: list[Question | None] = [None, None]
        self._asked: list[int] = []
        self._arrived: dict[int, memoryview] = {}
        self._action_count = int(pool.game.action_space.n)
        paths = [leaf.path for leaf in pool.encoder.leaves]
        self._mask_leaf = paths.index((MASK,)) if pool.game.masked else None
        self.failures: list[PlayerFailure | None] = [None, None]
        self.moves = [0, 0]

    @property
    def thinking(self) -> tuple[float, float]:
        """Seconds of thinking of each side."""
        return self._clocks[0].thinking, self._clocks[1].thinking

    def play(self, lanes: int) -> None:
        """Play all matches. If a side fails, `failures` holds its fault, and some matches stay unfinished."""
        for lane in range(lanes):
            self._start_next(lane)
        while self._pool.live and not any(self.failures):
            for side in SIDES:
                if self._due[side] and self._questions[side] is None:
                    self._ask(side)
            if (answer := self._wait(SIDES)) is not None:
                self._process_answer(*answer)
        if self._pool.live:
            self._await_other_side()
        for side in SIDES:
            if self._connections[side].ends and self.failures[side] is None:
                self._connections[side].close_politely(time.monotonic() + END_SECONDS)
        for side in SIDES:
            if self._questions[side] is not None:
                self._clocks[side].abandon()

    def _start_next(self, lane: int) -> None:
        match = self._pool.start_next(lane)
        if match is not None:
            self._due[match.side].append(match)

    def _ask(self, side: int) -> None:
        """Send one frame about every match in which this side is to move."""
        matches, self._due[side] = self._due[side], []
        parts, leaves = act_body(matches, side, self._pool.encoder)
        self._questions[side] = Question(matches, leaves)
        self._asked.append(side)
        self._connections[side].ask(wire.frame(wire.Op.ACT, *parts), 8 * len(matches))
        self._clocks[side].start(matches)

    def _wait(self, sides: Sequence[int], until: float = float("inf")) -> tuple[int, memoryview] | None:
        """Wait for the answer to the earliest question; None after a timeout, or when a side failed."""
        while True:
            for side in sides:
                self._read_answer(side)
            first = next((side for side in self._asked if side in sides), None)
            if first in self._arrived:
                self._asked.remove(first)
                return first, self._arrived.pop(first)
            if any(self.failures[side] for side in sides) or self._check_clocks(sides):
                return None
            now = time.monotonic()
            if now > until:
                return None
            deadlines = (self._clocks[side].deadline for side in SIDES if self._runs(side))
            self._sleep(sides, min(until, *deadlines) - now)

    def _runs(self, side: int) -> bool:
        """Whether this side's clock runs: it was asked, and has not answered."""
        return self._questions[side] is not None and side not in self._arrived

    def _read_answer(self, side: int) -> None:
        """Read an answer if it has arrived, and stop the side's clock."""
        if side in self._arrived or self.failures[side] is not None:
            return
        try:
            body = self._connections[side].read_answer()
        except (AgentFault, SandboxClosed) as failure:
            self._set_failure(side, failure)
            return
        if body is not None:
            self._arrived[side] = body
            self._clocks[side].note_arrival()

    def _sleep(self, sides: Iterable[int], seconds: float) -> None:
        poll = select.poll()
        for side in sides:
            peer = self._connections[side]
            if peer.waiting or peer.send_blocked:
                poll.register(peer.fileno(), select.POLLIN * peer.waiting | select.POLLOUT * peer.send_blocked)
        poll.poll(1000 * max(0.0, min(seconds, TICK_SECONDS)) + 1)

    def _check_clocks(self, sides: Iterable[int]) -> bool:
        """End the matches whose time has run out; returns whether there were any."""
        now = time.monotonic()
        out_of_time = [side for side in sides if self._runs(side) and self._clocks[side].deadline <= now]
        for side in out_of_time:
            self._time_out(side)
        return bool(out_of_time)

    def _time_out(self, side: int) -> None:
        question = self._questions[side]
        assert question is not None
        if self._clocks[side].is_used_up():
            self.failures[side] = self._total_time_fault()
            return
        late = self._clocks[side].take_late(question.matches)
        self._end_late(side, late)
        if all(match.over for match in question.matches):
            reason = f"none of the {len(question.matches)} positions it was asked about was answered in time"
            self.failures[side] = AgentFault(Verdict.TIMEOUT, f"the player is stuck: {reason}")

    def _total_time_fault(self) -> AgentFault:
        return AgentFault(Verdict.TIMEOUT, f"the player was thinking for more than {self._wall:g} seconds in all")

    def _end_late(self, side: int, late: list[LiveMatch]) -> None:
        move, bank = self._clock_settings.move_seconds, self._clock_settings.bank_seconds
        for match in late:
            why = f"ply {match.plies}: no move within {move:g} s and what was left of a bank of {bank:g} s"
            self._pool.close_for_offence(match, MatchEnd.LATE, (side,), why)
        self._finish(late)

    def _set_failure(self, side: int, failure: PlayerFailure) -> None:
        lane = failure.lane if isinstance(failure, AgentReportedFault) else None
        match = None if lane is None else self._pool.live.get(lane)
        if match is not None and isinstance(failure, AgentFault):
            words = f"match {match.spec.index}, ply {match.plies}: {failure}"
            failure = AgentFault(failure.verdict, words, failure.trace)
        self.failures[side] = failure

    def _process_answer(self, side: int, body: memoryview) -> None:
        """Process an answer: first ask the side about its other due matches, then step."""
        question = self._questions[side]
        assert question is not None
        self._questions[side] = None
        clock = self._clocks[side]
        milliseconds, late = clock.charge_answer(question.matches)
        if clock.thinking > self._wall:
            self.failures[side] = self._total_time_fault()
            return
        if late:
            self._end_late(side, late)
        if self._due[side]:
            self._ask(side)
        self._step_matches(side, question, body, milliseconds)

    def _step_matches(self, side: int, question: Question, body: memoryview, milliseconds: int) -> None:
        numbers = np.frombuffer(body, "<i8")
        refused = {} if self._all_legal(numbers, question) else self._refused_moves(numbers, question)
        leaves, due, settle = question.leaves, self._due, self._pool.settle  # found once, not for every move
        ended = []
        moves = 0
        for row, (match, move) in enumerate(zip(question.matches, numbers.tolist(), strict=True)):
            if row % STEPS_BETWEEN_READS == STEPS_BETWEEN_READS - 1:
                self._read_answer(0)
                self._read_answer(1)
            if match.over:  # its time ran out before the answer came
                continue
            if row in refused:
                self._pool.close_for_offence(match, refused[row], (side,), *self._refusal_message(match, refused[row], move))
                ended.append(match)
                continue
            moves += 1
            if match.play(move, milliseconds, leaves, row) and settle(match):
                ended.append(match)
            else:
                due[match.side].append(match)
        self.moves[side] += moves
        if ended:
            self._finish(ended)

    def _all_legal(self, numbers: Array, question: Question) -> bool:
        if numbers.min() < 0 or numbers.max() >= self._action_count:
            return False
        if self._mask_leaf is None:
            return True
        mask = np.frombuffer(question.leaves[self._mask_leaf], np.int8).reshape(len(numbers), self._action_count)
        return bool(mask[np.arange(len(numbers)), numbers].all())

    def _refused_moves(self, numbers: Array, question: Question) -> dict[int, MatchEnd]:
        refused = {}
        for row, number in enumerate(numbers.tolist()):
            if not -MAX_EXACT_INTEGER <= number <= MAX_EXACT_INTEGER:
                refused[row] = MatchEnd.MALFORMED
            elif not 0 <= number < self._action_count or (
                self._mask_leaf is not None and not question.leaves[self._mask_leaf][row * self._action_count + number]
            ):
                refused[row] = MatchEnd.ILLEGAL
        return refused

    def _refusal_message(self, match: LiveMatch, end: MatchEnd, move: int) -> tuple[str, int | None]:
        """Why a move is refused, and the move if it is a number."""
        if end is MatchEnd.MALFORMED:
            return malformed_move_message(match), None
        return illegal_move_message(self._pool.game, match, move), move

    def _finish(self, ended: list[LiveMatch]) -> None:
        """Tell the players that asked for it, and start the next matches."""
        for side in SIDES:
            matches = [match for match in ended if match.was_asked(side)] if self._connections[side].ends else []
            if matches:
                self._connections[side].send(wire.frame(wire.Op.OVER, *over_body(matches, side, self._pool.encoder)))
        for match in ended:
            match.position.close()
            self._start_next(match.lane)
            # A game may take long to begin, and whoever has answered meanwhile does not pay for that.
            for side in SIDES:
                self._read_answer(side)
        done, total = self._pool.done, self._pool.total
        points = [0.5 if match.winner is None else float(match.winner == 0) for match in done.values()]
        share = len(done) / total
        self._progress(PlayProgress(done=len(done), total=total, steps=sum(self.moves), share=share, scores=points))

    def _await_other_side(self) -> None:
        """One side failed: wait a moment for the other's answer, which shows whether it failed too."""
        for side in SIDES:
            if self.failures[side] is None and self._questions[side] is not None:
                self._wait((side,), time.monotonic() + GRACE_SECONDS)


@dataclass(frozen=True, kw_only=True)
class ConnectedPlayer:
    """A player's sandbox, or why there is none."""

    sandbox: Sandbox | None = None
    fault: AgentFault | None = None
    """Why it could not be opened; the player loses every match."""


@dataclass(frozen=True, kw_only=True)
class DuelSetup:
    """What the referee needs to play a duel."""

    game: PettingZooGame
    specs: tuple[MatchSpec, ...]
    limits: Limits
    players: tuple[ConnectedPlayer, ConnectedPlayer]
    progress: ReportProgress = lambda progress: None
    before_first_observation: Callable[[], None] = lambda: None
    """Called before a player is shown its first position."""


@dataclass(frozen=True, kw_only=True)
class DuelTally:
    """All played matches of a duel."""

    matches: tuple[PlayedMatch, ...]
    """In the order of the specs."""
    faults: tuple[AgentFault | None, AgentFault | None]
    """Why a side failed before its last match."""
    thinking: tuple[float, float]
    """Wall seconds of thinking of each side."""
    moves: tuple[int, int]
    """Moves of each side, without openings."""


def play_duel(setup: DuelSetup) -> DuelTally:
    """Play every match. Players' faults are in the tally; an exception is a failure of ours."""
    failures: list[PlayerFailure | None] = [player.fault for player in setup.players]
    lanes = setup.game.task.lanes
    streams = _connect(setup, failures)
    pool = MatchPool(setup.game, setup.specs, lanes.shared)
    pool.prepare(lanes.shared)  # while the players import their code
    ready = _await_ready(setup, streams, failures)
    loop: MatchLoop | None = None
    if len(ready) == len(SIDES):
        connections = [PlayerConnection(stream, ends=player.ends) for stream, player in ready]
        loop = MatchLoop(pool, connections, setup.limits, setup.progress)
        for player in setup.players:
            if player.sandbox is not None:
                player.sandbox.limit_share()
        setup.before_first_observation()
        loop.play(min(len(setup.specs), lanes.shared if all(player.shared for _, player in ready) else lanes.separate))
        failures = loop.failures
    faults = [_final_fault(player, failure) for player, failure in zip(setup.players, failures, strict=True)]
    out = tuple(side for side in SIDES if faults[side] is not None)
    if out:
        reasons = " and ".join(str(fault.verdict) for fault in faults if fault is not None)
        pool.forfeit(out, f"could not go on: {reasons}")
    return DuelTally(
        matches=tuple(pool.done[spec.index] for spec in setup.specs),
        faults=(faults[0], faults[1]),
        thinking=loop.thinking if loop else (0.0, 0.0),
        moves=(loop.moves[0], loop.moves[1]) if loop else (0, 0),
    )


def _connect(setup: DuelSetup, failures: list[PlayerFailure | None]) -> list[ByteStream | None]:
    """Begin the handshake: wait for both sandboxes to connect, and send each its HELLO."""
    streams: list[ByteStream | None] = [None, None]
    for side, player in enumerate(setup.players):
        if player.sandbox is not None and player.fault is None:
            with _collect_failure(failures, side):
                stream = player.sandbox.stream()
                hello = Hello(mode="play", seed=setup.specs[0].agent_seeds[side], **setup.game.hello_fields())
                hello.send(stream, setup.limits.start_seconds, clock=setup.game.task.clock.model_dump(mode="json"))
                streams[side] = stream
    return streams


def _await_ready(
    setup: DuelSetup, streams: list[ByteStream | None], failures: list[PlayerFailure | None]
) -> list[tuple[ByteStream, Ready]]:
    """End the handshake: each player that is ready."""
    ready = []
    deadline = time.monotonic() + setup.limits.start_seconds
    for side, stream in enumerate(streams):
        if stream is not None:
            with _collect_failure(failures, side):
                ready.append((stream, Ready.read(stream, deadline, setup.limits.start_seconds)))
    return ready


@contextlib.contextmanager
def _collect_failure(failures: list[PlayerFailure | None], side: int) -> Iterator[None]:
    try:
        yield
    except (AgentFault, SandboxClosed) as failure:
        failures[side] = failure


def _final_fault(player: ConnectedPlayer, failure: PlayerFailure | None) -> AgentFault | None:
    """Why a side failed. For a closed connection, or a crash, the sandbox may know more."""
    if failure is None or player.sandbox is None:
        return player.fault
    if isinstance(failure, AgentFault) and failure.verdict is Verdict.TIMEOUT:
        player.sandbox.end()
    elif isinstance(failure, SandboxClosed):
        return player.sandbox.post_mortem()
    elif failure.verdict is Verdict.CRASHED:
        return prefer_specific(failure, player.sandbox.post_mortem())
    return failure
