"""The matches of a duel while it is played: waiting, live and finished, and how long one may be.

Which matches there are says `evaluate_duel`; whether a move is legal and in time is decided in `duel_referee`.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluator import wire
from evaluator.host.envs.episode_recorder import EpisodeChecksum
from evaluator.host.envs.pettingzoo_game import GamePosition, PettingZooGame
from evaluator.host.envs.spaces import ObservationEncoder, padded_leaves
from evaluator.model.records.duel_record import MatchEnd, first_side

# Bytes of frames that all live matches buffer before they are hashed.
MAX_FRAME_BYTES = 1 << 26
MATCH_MESSAGE_CHARACTERS = 300
LISTED_MOVES = 12


@dataclass(frozen=True, kw_only=True)
class MatchSpec:
    """A match that waits to be played."""

    index: int
    """Its number in the duel: side 0 begins the even ones, side 1 the odd ones."""
    seed: str
    """The game's seed, 32 hex digits; each two matches share one."""
    opening: tuple[int, ...]
    """Its first moves, drawn from the seed."""
    agent_seeds: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class PlayedMatch:
    """A finished match; its fields are those of `MatchRecord`."""

    index: int
    end: MatchEnd
    winner: int | None
    offenders: tuple[int, ...]
    scores: tuple[float, float]
    moves: tuple[int, ...]
    milliseconds: tuple[int, ...]
    """The time charged for each move; 0 for the opening's."""
    refused: int | None
    message: str
    checksum: str


class LiveMatch:
    """A match that is being played."""

    __slots__ = (
        "banks", "check_at", "checksum", "earned", "first", "frames", "heads", "lane", "milliseconds", "moves", "over",
        "plies", "position", "spec",
    )  # fmt: skip

    def __init__(self, spec: MatchSpec, position: GamePosition, leaves: int, bank: float) -> None:
        self.spec, self.position, self.lane = spec, position, -1
        self.first = first_side(spec.index)
        self.banks = [bank, bank]
        self.over = False
        self.moves: list[int] = []
        self.milliseconds: list[int] = []
        self.plies = 0
        self.check_at = 0
        self.checksum = EpisodeChecksum(leaves)
        self.frames: list[tuple[list[bytes], int]] = []
        self.earned: list[tuple[float, float]] = []
        self.heads: list[bytes] = []

    def assign_lane(self, lane: int) -> None:
        """Put the match on a lane."""
        self.lane = lane
        self.heads = [wire.LANE.pack(lane, True, seed) for seed in self.spec.agent_seeds]

    @property
    def side(self) -> int:
        """The side to move."""
        return self.position.mover ^ self.first

    @property
    def scores(self) -> tuple[float, float]:
        """Return of each side so far."""
        totals = self.position.totals
        return totals[self.first], totals[1 - self.first]

    def was_asked(self, side: int) -> bool:
        """Whether that side has been asked about this match."""
        return not self.heads[side][2]

    def head(self, side: int) -> bytes:
        """The lane's head in a frame to that side; the first one says that a match starts."""
        head = self.heads[side]
        if head[2]:
            self.heads[side] = wire.LANE.pack(self.lane, False, self.spec.agent_seeds[side])
        return head

    def play(self, move: int, milliseconds: int, leaves: list[bytes], row: int) -> bool:
        """Play a move, whose observation is row `row` of a frame; returns whether `settle` must be called."""
        position = self.position
        self.frames.append((leaves, row))
        self.moves.append(move)
        self.milliseconds.append(milliseconds)
        self.earned.append(position.play(move))
        self.plies += 1
        return position.over or self.plies >= self.check_at


def act_body(matches: Sequence[LiveMatch], side: int, encoder: ObservationEncoder) -> tuple[list[bytes], list[bytes]]:
    """The body of an ACT frame to a side about matches in which it is to move, in parts; and the observations in it."""
    leaves = encoder.encode([match.position.observe() for match in matches])
    return _body(matches, side, leaves), leaves


def over_body(matches: Sequence[LiveMatch], side: int, encoder: ObservationEncoder) -> list[bytes]:
    """The body of an OVER frame to a side about matches that have ended, in parts."""
    leaves = encoder.encode([match.position.observe_as(side ^ match.first) for match in matches])
    return _body(matches, side, [*leaves, np.array([match.scores[side] for match in matches], "<f8").tobytes()])


def _body(matches: Sequence[LiveMatch], side: int, leaves: list[bytes]) -> list[bytes]:
    return [wire.COUNT.pack(len(matches), 0), *[match.head(side) for match in matches], *padded_leaves(leaves)]


def illegal_move_message(game: PettingZooGame, match: LiveMatch, move: int) -> str:
    """Why an illegal move is refused, with the first legal ones."""
    legal = game.legal(match.position.observe())
    some = ", ".join(map(str, legal[:LISTED_MOVES])) + (", …" if len(legal) > LISTED_MOVES else "")
    return f"ply {match.plies}: the move {move} is not legal here; legal: {some}"


def malformed_move_message(match: LiveMatch) -> str:
    """Why an answer that is no integer is refused."""
    return f"ply {match.plies}: the answer is not a move; a move is one integer"


class MatchPool:
    """The matches of a duel: waiting, live on lanes, and done."""

    def __init__(self, game: PettingZooGame, specs: Sequence[MatchSpec], lanes: int) -> None:
        self.game = game
        self.encoder = game.encoder()
        self._nbytes = [leaf.nbytes for leaf in self.encoder.leaves]
        self._keep = max(1, MAX_FRAME_BYTES // (lanes * max(1, sum(self._nbytes))))
        self._waiting: Iterator[MatchSpec] = iter(specs)
        self.total = len(specs)
        self._ahead: deque[LiveMatch] = deque()
        self.live: dict[int, LiveMatch] = {}
        self.done: dict[int, PlayedMatch] = {}

    def prepare(self, count: int) -> None:
        """Start the first matches ahead of time."""
        while len(self._ahead) < count and (match := self._next()) is not None:
            self._ahead.append(match)

    def start_next(self, lane: int) -> LiveMatch | None:
        """Put the next waiting match on a lane."""
        match = self._ahead.popleft() if self._ahead else self._next()
        if match is not None:
            match.assign_lane(lane)
            self.live[lane] = match
        return match

    def _next(self) -> LiveMatch | None:
        """The next match after its opening; one that its opening ends is done at once."""
        for spec in self._waiting:
            position = self.game.start(spec.seed)
            match = LiveMatch(spec, position, len(self._nbytes), self.game.task.clock.bank_seconds)
            for move in spec.opening:
                match.play(move, 0, self.encoder.encode([position.observe()]), 0)
            if not self.settle(match):
                return match
        return None

    def settle(self, match: LiveMatch) -> bool:
        """Close the match if the game or the limit of plies has ended it; returns whether it is over."""
        if match.position.over:
            one, other = match.scores
            self.close(match, MatchEnd.PLAYED, winner=None if one == other else int(other > one))
        elif match.plies >= self.game.task.max_plies:
            self.close(match, MatchEnd.TOO_LONG)
        else:
            self._hash_frames(match)
            match.check_at = min(match.plies + self._keep, self.game.task.max_plies)
        return match.over

    def close_for_offence(
        self, match: LiveMatch, end: MatchEnd, offenders: tuple[int, ...], why: str, refused: int | None = None
    ) -> None:
        """Close a match because of a broken rule: the offender loses; if both offend, nobody wins."""
        winner = 1 - offenders[0] if len(offenders) == 1 else None
        self.close(match, end, winner=winner, offenders=offenders, refused=refused, message=why)

    def close(self, match: LiveMatch, end: MatchEnd, *, winner: int | None = None, **more: Any) -> None:
        """Close a match and record it."""
        self._hash_frames(match)
        checksum = match.checksum.close(match.plies, terminated=match.position.over, truncated=False)
        fields: dict[str, Any] = {"offenders": (), "refused": None, "message": "", **more}
        fields["message"] = fields["message"][:MATCH_MESSAGE_CHARACTERS]
        self.done[match.spec.index] = PlayedMatch(
            index=match.spec.index,
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

    def _hash_frames(self, match: LiveMatch) -> None:
        """Hash the buffered frames, many at once for speed."""
        frames = match.frames
        if frames:
            match.checksum.add_observations(
                [b"".join([seen[i][row * n : (row + 1) * n] for seen, row in frames]) for i, n in enumerate(self._nbytes)]
            )
            match.checksum.add_rewards(np.array(match.earned, "<f8").tobytes())
            match.frames, match.earned = [], []

    def forfeit(self, offenders: tuple[int, ...], why: str) -> None:
        """Close every unfinished match as a loss of the offenders."""
        for match in list(self.live.values()):
            self.close_for_offence(match, MatchEnd.FORFEIT, offenders, why)
            match.position.close()
        while (waiting := self.start_next(0)) is not None:
            self.close_for_offence(waiting, MatchEnd.FORFEIT, offenders, why)
            waiting.position.close()
