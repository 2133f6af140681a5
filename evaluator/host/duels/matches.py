"""Matches of a duel on the table: which are live, what each leaves behind."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluator import wire
from evaluator.host.envs.pettingzoo_game import GamePosition, PettingZooGame
from evaluator.host.envs.recorder import EpisodeChecksum
from evaluator.model.records.duel_record import MatchEnd

# What live matches keep of their frames before it goes into their checksums.
KEPT_BYTES = 1 << 26
MESSAGE = 300


@dataclass(frozen=True, kw_only=True)
class MatchSpec:
    """A match that waits to be played."""

    index: int
    """Its place in the duel: the even ones are begun by side 0, the odd ones by side 1."""
    seed: str
    """The game's seed, 32 hex digits; two matches share it."""
    opening: tuple[int, ...]
    """The moves it begins with."""
    agent_seeds: tuple[int, int]
    """Each side's own seed."""


@dataclass(frozen=True, kw_only=True)
class PlayedMatch:
    """One finished match."""

    index: int
    """Its place in the duel."""
    end: MatchEnd
    """Why it ended."""
    winner: int | None
    """Which side won."""
    offenders: tuple[int, ...]
    """Which side broke a rule, or could not go on."""
    scores: tuple[float, float]
    """Return of each side."""
    moves: tuple[int, ...]
    """Every move, the opening's included."""
    milliseconds: tuple[int, ...]
    """What each of them was charged; the opening's cost nothing."""
    refused: int | None
    """The move that was illegal."""
    message: str
    """What was wrong, in one line."""
    checksum: str
    """Over what the movers saw and what the game gave."""


class LiveMatch:
    """A match that is being played."""

    __slots__ = (
        "banks", "board", "care", "checksum", "earned", "first", "frames", "heads", "lane", "milliseconds", "moves",
        "over", "plies", "ticket",
    )  # fmt: skip

    def __init__(self, ticket: MatchSpec, board: GamePosition, leaves: int, bank: float) -> None:
        self.ticket, self.board, self.lane = ticket, board, -1
        self.first = ticket.index % 2
        self.banks = [bank, bank]
        self.over = False
        self.moves: list[int] = []
        self.milliseconds: list[int] = []
        self.plies = 0
        self.care = 0
        self.checksum = EpisodeChecksum(leaves)
        self.frames: list[tuple[list[bytes], int]] = []
        self.earned: list[tuple[float, float]] = []
        self.heads: list[bytes] = []

    def sit(self, lane: int) -> None:
        """Take a lane."""
        self.lane = lane
        self.heads = [wire.LANE.pack(lane, True, seed) for seed in self.ticket.agent_seeds]

    @property
    def side(self) -> int:
        """Who is to move."""
        return self.board.mover ^ self.first

    @property
    def scores(self) -> tuple[float, float]:
        """Return of each side so far."""
        totals = self.board.totals
        return totals[self.first], totals[1 - self.first]

    def asked(self, side: int) -> bool:
        """Whether that side has been asked about this match."""
        return not self.heads[side][2]

    def head(self, side: int) -> bytes:
        """The lane's head in a frame to that side; it says once that a match starts."""
        head = self.heads[side]
        if head[2]:
            self.heads[side] = wire.LANE.pack(self.lane, False, self.ticket.agent_seeds[side])
        return head

    def play(self, move: int, milliseconds: int, leaves: list[bytes], row: int) -> bool:
        """The side to move moves; what it saw stands in that row of a frame. Returns whether `settle` must look at it."""
        board = self.board
        self.frames.append((leaves, row))
        self.moves.append(move)
        self.milliseconds.append(milliseconds)
        self.earned.append(board.play(move))
        self.plies += 1
        return board.over or self.plies >= self.care


class MatchPool:
    """The matches of a duel: on lanes, waiting, done."""

    def __init__(self, game: PettingZooGame, tickets: Sequence[MatchSpec], lanes: int) -> None:
        self.game = game
        self.encoder = game.encoder()
        self._nbytes = [leaf.nbytes for leaf in self.encoder.leaves]
        self._keep = max(1, KEPT_BYTES // (lanes * max(1, sum(self._nbytes))))
        self._tickets: Iterator[MatchSpec] = iter(tickets)
        self._ahead: deque[LiveMatch] = deque()
        self.live: dict[int, LiveMatch] = {}
        self.done: dict[int, PlayedMatch] = {}

    def prepare(self, count: int) -> None:
        """Set up the first matches, while there is time."""
        while len(self._ahead) < count and (match := self._next()) is not None:
            self._ahead.append(match)

    def seat(self, lane: int) -> LiveMatch | None:
        """Put the next waiting match on a lane."""
        match = self._ahead.popleft() if self._ahead else self._next()
        if match is not None:
            match.sit(lane)
            self.live[lane] = match
        return match

    def _next(self) -> LiveMatch | None:
        """The next match, its opening played; those whose opening leaves nothing to play are done at once."""
        for ticket in self._tickets:
            board = self.game.start(ticket.seed)
            match = LiveMatch(ticket, board, len(self._nbytes), self.game.task.clock.bank_seconds)
            for move in ticket.opening:
                match.play(move, 0, self.encoder.encode([board.see()]), 0)
            if not self.settle(match):
                return match
        return None

    def settle(self, match: LiveMatch) -> bool:
        """Close a match that the game or the number of moves has ended; returns whether it was."""
        if match.board.over:
            one, other = match.scores
            self.close(match, MatchEnd.PLAYED, winner=None if one == other else int(other > one))
        elif match.plies >= self.game.task.max_plies:
            self.close(match, MatchEnd.TOO_LONG)
        else:
            self._fold(match)
            match.care = min(match.plies + self._keep, self.game.task.max_plies)
        return match.over

    def offence(
        self, match: LiveMatch, end: MatchEnd, offenders: tuple[int, ...], why: str, refused: int | None = None
    ) -> None:
        """Close a match because of a broken rule: the offender loses it; where both offend, nobody wins."""
        winner = 1 - offenders[0] if len(offenders) == 1 else None
        self.close(match, end, winner=winner, offenders=offenders, refused=refused, message=why)

    def close(self, match: LiveMatch, end: MatchEnd, *, winner: int | None = None, **more: Any) -> None:
        """A match has ended."""
        self._fold(match)
        checksum = match.checksum.close(match.plies, terminated=match.board.over, truncated=False)
        fields: dict[str, Any] = {"offenders": (), "refused": None, "message": "", **more}
        fields["message"] = fields["message"][:MESSAGE]
        self.done[match.ticket.index] = PlayedMatch(
            index=match.ticket.index,
            end=end,
            winner=winner,
            scores=match.scores,
            moves=tuple(match.moves),
            milliseconds=tuple(match.milliseconds),
            checksum=checksum,
            **fields,
        )
        match.over = True
        self.live.pop(match.lane, None)

    def _fold(self, match: LiveMatch) -> None:
        """What is kept of frames goes into the checksum: many at once, because a ply has no time for it."""
        frames = match.frames
        if frames:
            match.checksum.see(
                [b"".join([seen[i][row * n : (row + 1) * n] for seen, row in frames]) for i, n in enumerate(self._nbytes)]
            )
            match.checksum.earn(np.array(match.earned, "<f8").tobytes())
            match.frames, match.earned = [], []

    def forfeit(self, offenders: tuple[int, ...], why: str) -> None:
        """Every match that is not done is lost by who could not go on."""
        for match in list(self.live.values()):
            self.offence(match, MatchEnd.FORFEIT, offenders, why)
            match.board.close()
        while (waiting := self.seat(0)) is not None:
            self.offence(waiting, MatchEnd.FORFEIT, offenders, why)
            waiting.board.close()
