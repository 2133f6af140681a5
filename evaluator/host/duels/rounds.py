"""The rounds of a duel: one side's answer is stepped while the other side thinks about the other matches.

Answers are taken in the order of the questions, however fast they come: a side's frames follow from the moves alone, and a
player that draws from one generator for all matches makes the same moves when it is played again.
"""

import select
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from evaluator import wire
from evaluator.host.duels.connection import PlayerConnection
from evaluator.host.duels.matches import LiveMatch, MatchPool
from evaluator.host.envs.pettingzoo_game import MASK
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.sandboxes.channel import TICK, AgentComplaint
from evaluator.model.config.challenge import ClockSettings, Limits
from evaluator.model.records.duel_record import MatchEnd
from evaluator.model.records.verdict import Verdict


class Timed(Protocol):
    """A match as a clock sees it."""

    banks: list[float]
    """Seconds that each side has left beyond its moves' own."""
    over: bool
    """Whether it has ended."""


Match = TypeVar("Match", bound=Timed)


class SideClock:
    """One player's time in all matches of a duel."""

    def __init__(self, settings: ClockSettings, side: int, wall_seconds: float, now: Callable[[], float]) -> None:
        self._move, self._side, self._now = settings.move_seconds, side, now
        self._wall = wall_seconds
        self._begun = 0.0
        self._count = 1
        self._answered: float | None = None
        self.thinking = 0.0
        self.deadline = 0.0

    def start(self, matches: Sequence[Timed]) -> None:
        """A frame about these matches' positions is out."""
        self._begun, self._answered = self._now(), None
        self._count = len(matches)
        self._set_deadline(matches)

    def _set_deadline(self, matches: Sequence[Timed]) -> None:
        """When the next thing happens if no answer comes."""
        side = self._side
        poorest = min((match.banks[side] for match in matches if not match.over), default=0.0)
        share = self._count * (self._move + poorest)
        self.deadline = self._begun + min(share, self._wall - self.thinking)

    def spent(self) -> bool:
        """Whether all the thinking time of the duel is used up, by the frame that is out."""
        return self.thinking + (self._now() - self._begun) >= self._wall

    def run_out(self, matches: Sequence[Match]) -> list[Match]:
        """The matches whose time ran out by now, no answer being there; the deadline moves to the next ones'."""
        share = (self._now() - self._begun) / self._count - self._move
        late = [match for match in matches if not match.over and match.banks[self._side] <= share]
        self._set_deadline([match for match in matches if match not in late])
        return late

    def arrived(self) -> None:
        """The answer is here, though nobody has time for it yet."""
        self._answered = self._now()

    def stop(self, matches: Sequence[Match]) -> tuple[int, list[Match]]:
        """The answer is taken: what each position is charged in milliseconds, and for whom it came too late."""
        seconds = self._seconds()
        self.thinking += seconds
        share = seconds / self._count
        beyond = share - self._move
        late = []
        if beyond > 0:
            for match in matches:
                match.banks[self._side] -= beyond
                if match.banks[self._side] < 0 and not match.over:
                    late.append(match)
        return round(share * 1000), late

    def abandon(self) -> None:
        """The frame that is out is of no use any more, whether its answer is here or not."""
        self.thinking += self._seconds()

    def _seconds(self) -> float:
        """What the frame took, until its answer was here or until now."""
        return (self._now() if self._answered is None else self._answered) - self._begun


SIDES = (0, 1)
# Once a side is out, the other one has so long to show that it is not: who fails in the same moment fails, too.
GRACE_SECONDS = 1.0
# What a player may take to hear how its last matches ended, once nothing more is asked of it.
LAST_WORDS_SECONDS = 1.0
# Beyond this JSON has no exact integers; such a move is not even a wrong one.
MAX_EXACT_INTEGER = 2**53 - 1
LISTED_MOVES = 12
# While so many matches are stepped nobody looks whether an answer has come.
STEPS_BETWEEN_READS = 16

Trouble = AgentFault | SandboxClosed
Array = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Question:
    """A frame that is out."""

    matches: list[LiveMatch]
    """What it asks about, in its order."""
    leaves: list[bytes]
    """The observations in it."""


class Rounds:
    """Plays the matches of a table until all are done or a side cannot go on."""

    def __init__(
        self, pool: MatchPool, connections: Sequence[PlayerConnection], limits: Limits, progress: Callable[[int], None]
    ) -> None:
        self._pool, self._connections, self._progress = pool, connections, progress
        clock = pool.game.task.clock
        self._clock = clock
        self._clocks = [SideClock(clock, side, limits.wall_seconds, time.monotonic) for side in SIDES]
        self._wall = limits.wall_seconds
        self._due: list[list[LiveMatch]] = [[], []]
        self._questions: list[Question | None] = [None, None]
        self._asked: list[int] = []
        self._early: dict[int, memoryview] = {}
        self._count = int(pool.game.action_space.n)
        paths = [leaf.path for leaf in pool.encoder.leaves]
        self._mask = paths.index((MASK,)) if pool.game.masked else None
        self.troubles: list[Trouble | None] = [None, None]
        self.moves = [0, 0]

    @property
    def thinking(self) -> tuple[float, float]:
        """Seconds that each side was thinking."""
        return self._clocks[0].thinking, self._clocks[1].thinking

    def play(self, lanes: int) -> None:
        """Play. What ends a side is in `troubles`; matches that are still live then are its loss."""
        for lane in range(lanes):
            self._start_next(lane)
        while self._pool.live and not any(self.troubles):
            for side in SIDES:
                if self._due[side] and self._questions[side] is None:
                    self._ask(side)
            if (answer := self._wait(SIDES)) is not None:
                self._take(*answer)
        if self._pool.live:
            self._await_other_side()
        for side in SIDES:
            if self._connections[side].ends and self.troubles[side] is None:
                self._connections[side].part(time.monotonic() + LAST_WORDS_SECONDS)
        for side in SIDES:
            if self._questions[side] is not None:
                self._clocks[side].abandon()

    def _start_next(self, lane: int) -> None:
        match = self._pool.seat(lane)
        if match is not None:
            self._due[match.side].append(match)

    def _ask(self, side: int) -> None:
        """One frame about every match in which that side is to move."""
        matches, self._due[side] = self._due[side], []
        leaves = self._pool.encoder.encode([match.board.see() for match in matches])
        parts = [wire.COUNT.pack(len(matches), 0), *[match.head(side) for match in matches]]
        for raw in leaves:
            parts += raw, wire.padding(len(raw))
        self._questions[side] = Question(matches, leaves)
        self._asked.append(side)
        self._connections[side].ask(wire.frame(wire.Op.ACT, *parts), 8 * len(matches))
        self._clocks[side].start(matches)

    def _wait(self, sides: Sequence[int], until: float = float("inf")) -> tuple[int, memoryview] | None:
        """The answer to the earliest question; None when a clock, or a side's end, changed something."""
        while True:
            for side in sides:
                self._read_answer(side)
            first = next((side for side in self._asked if side in sides), None)
            if first in self._early:
                self._asked.remove(first)
                return first, self._early.pop(first)
            if any(self.troubles[side] for side in sides) or self._check_clocks(sides):
                return None
            now = time.monotonic()
            if now > until:
                return None
            self._sleep(sides, min(until, *(self._clocks[side].deadline for side in SIDES if self._runs(side))) - now)

    def _runs(self, side: int) -> bool:
        """Whether its clock does: it is asked, and its answer is not there."""
        return self._questions[side] is not None and side not in self._early

    def _read_answer(self, side: int) -> None:
        """Whether an answer is there; from now on its clock stands, even if it is not taken yet."""
        if side in self._early or self.troubles[side] is not None:
            return
        try:
            body = self._connections[side].pump()
        except (AgentFault, SandboxClosed) as trouble:
            self._set_trouble(side, trouble)
            return
        if body is not None:
            self._early[side] = body
            self._clocks[side].arrived()

    def _sleep(self, sides: Iterable[int], seconds: float) -> None:
        poll = select.poll()
        for side in sides:
            peer = self._connections[side]
            if peer.waiting or peer.clogged:
                poll.register(peer.fileno(), select.POLLIN * peer.waiting | select.POLLOUT * peer.clogged)
        poll.poll(1000 * max(0.0, min(seconds, TICK)) + 1)

    def _check_clocks(self, sides: Iterable[int]) -> bool:
        """End the matches whose time has run out while their answer was waited for."""
        now = time.monotonic()
        fallen = [side for side in sides if self._runs(side) and self._clocks[side].deadline <= now]
        for side in fallen:
            self._time_out(side)
        return bool(fallen)

    def _time_out(self, side: int) -> None:
        question = self._questions[side]
        assert question is not None
        if self._clocks[side].spent():
            self.troubles[side] = self._total_time_fault()
            return
        late = self._clocks[side].run_out(question.matches)
        self._end_late(side, late)
        if all(match.over for match in question.matches):
            asked = f"none of the {len(question.matches)} positions it was asked about was answered in time"
            self.troubles[side] = AgentFault(Verdict.TIMEOUT, f"the player is stuck: {asked}")

    def _total_time_fault(self) -> AgentFault:
        return AgentFault(Verdict.TIMEOUT, f"the player was thinking for more than {self._wall:g} seconds in all")

    def _end_late(self, side: int, late: list[LiveMatch]) -> None:
        move, bank = self._clock.move_seconds, self._clock.bank_seconds
        for match in late:
            why = f"ply {match.plies}: no move within {move:g} s and what was left of a bank of {bank:g} s"
            self._pool.offence(match, MatchEnd.LATE, (side,), why)
        self._finish(late)

    def _set_trouble(self, side: int, trouble: Trouble) -> None:
        lane = trouble.lane if isinstance(trouble, AgentComplaint) else None
        match = None if lane is None else self._pool.live.get(lane)
        if match is not None and isinstance(trouble, AgentFault):
            trouble = AgentFault(trouble.verdict, f"match {match.ticket.index}, ply {match.plies}: {trouble}")
        self.troubles[side] = trouble

    def _take(self, side: int, body: memoryview) -> None:
        """An answer: first let its sender think about what has become due meanwhile, then step the matches."""
        question = self._questions[side]
        assert question is not None
        self._questions[side] = None
        clock = self._clocks[side]
        milliseconds, late = clock.stop(question.matches)
        if clock.thinking > self._wall:
            self.troubles[side] = self._total_time_fault()
            return
        if late:
            self._end_late(side, late)
        if self._due[side]:
            self._ask(side)
        self._step(side, question, body, milliseconds)

    def _step(self, side: int, question: Question, body: memoryview, milliseconds: int) -> None:
        numbers = np.frombuffer(body, "<i8")
        refused = {} if self._all_legal(numbers, question) else self._refused(numbers, question)
        leaves, due, settle = question.leaves, self._due, self._pool.settle
        ended = []
        made = 0
        for row, (match, move) in enumerate(zip(question.matches, numbers.tolist(), strict=True)):
            if row % STEPS_BETWEEN_READS == STEPS_BETWEEN_READS - 1:
                self._read_answer(0)
                self._read_answer(1)
            if match.over:  # its clock fell before the answer came
                continue
            if row in refused:
                self._pool.offence(match, refused[row], (side,), *self._refusal(match, refused[row], move))
                ended.append(match)
                continue
            made += 1
            if match.play(move, milliseconds, leaves, row) and settle(match):
                ended.append(match)
            else:
                due[match.board.mover ^ match.first].append(match)
        self.moves[side] += made
        if ended:
            self._finish(ended)

    def _all_legal(self, numbers: Array, question: Question) -> bool:
        if numbers.min() < 0 or numbers.max() >= self._count:
            return False
        if self._mask is None:
            return True
        mask = np.frombuffer(question.leaves[self._mask], np.int8).reshape(len(numbers), self._count)
        return bool(mask[np.arange(len(numbers)), numbers].all())

    def _refused(self, numbers: Array, question: Question) -> dict[int, MatchEnd]:
        refused = {}
        for row, number in enumerate(numbers.tolist()):
            if not -MAX_EXACT_INTEGER <= number <= MAX_EXACT_INTEGER:
                refused[row] = MatchEnd.MALFORMED
            elif not 0 <= number < self._count or (
                self._mask is not None and not question.leaves[self._mask][row * self._count + number]
            ):
                refused[row] = MatchEnd.ILLEGAL
        return refused

    def _refusal(self, match: LiveMatch, end: MatchEnd, move: int) -> tuple[str, int | None]:
        """Why a move is refused, and which number it was if it was one."""
        if end is MatchEnd.MALFORMED:
            return f"ply {match.plies}: the answer is not a move; a move is one integer", None
        legal = self._pool.game.legal(match.board.see())
        some = ", ".join(map(str, legal[:LISTED_MOVES])) + (", …" if len(legal) > LISTED_MOVES else "")
        return f"ply {match.plies}: the move {move} is not legal here; legal: {some}", move

    def _finish(self, ended: list[LiveMatch]) -> None:
        """Tell those who want to hear it, and put the next matches in their places."""
        for side in SIDES:
            matches = [match for match in ended if match.asked(side)] if self._connections[side].ends else []
            if matches:
                self._connections[side].tell(self._over_frame(side, matches))
        for match in ended:
            match.board.close()
            self._start_next(match.lane)
        self._progress(len(self._pool.done))

    def _over_frame(self, side: int, matches: list[LiveMatch]) -> bytes:
        leaves = self._pool.encoder.encode([match.board.seen_by(side ^ match.first) for match in matches])
        leaves.append(np.array([match.scores[side] for match in matches], "<f8").tobytes())
        parts = [wire.COUNT.pack(len(matches), 0), *[match.head(side) for match in matches]]
        for raw in leaves:
            parts += raw, wire.padding(len(raw))
        return wire.frame(wire.Op.OVER, *parts)

    def _await_other_side(self) -> None:
        """A side is out. If the other one owes an answer, it must give one in a moment, or fail, to count as still there."""
        for side in SIDES:
            if self.troubles[side] is None and self._questions[side] is not None:
                self._wait((side,), time.monotonic() + GRACE_SECONDS)
