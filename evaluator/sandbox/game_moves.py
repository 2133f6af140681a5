"""Encoding of a game's moves. A bad move loses only its own match, so it is sent as `wire.MALFORMED`."""

import operator
from typing import Any

import numpy as np

from evaluator import wire
from evaluator.sandbox.values import describe_value

# Lines printed about bad moves; the log has a limit, and exceeding it would be the player's fault.
MAX_COMPLAINT_LINES = 20


class MoveEncoder:
    """Encodes moves as `ActionWriter` encodes actions; raises only what the agent's own objects raise."""

    def __init__(self) -> None:
        self._lines = MAX_COMPLAINT_LINES

    def singles(self, moves: list[Any]) -> bytes:
        """The ACTIONS body for one move per lane."""
        try:
            return np.fromiter(map(operator.index, moves), np.int64, len(moves)).tobytes()
        except (TypeError, OverflowError):
            return np.array([self._number(move) for move in moves], np.int64).tobytes()

    def stacked(self, moves: Any, count: int) -> bytes:
        """The ACTIONS body for an array of moves; all are bad if their number is not that of the lanes."""
        if isinstance(moves, np.ndarray) and moves.shape == (count,) and moves.dtype.kind in "iu":
            if moves.dtype != np.uint64 or (moves < 1 << 63).all():
                return moves.astype("<i8").tobytes()
        elif not hasattr(moves, "__len__") or len(moves) != count:
            self._complain(f"act_batch returned {describe_value(moves)}; {count} positions want {count} moves")
            return np.full(count, wire.MALFORMED, np.int64).tobytes()
        return self.singles(list(moves))

    def _number(self, move: Any) -> int:
        try:
            number = operator.index(move)
            if -(1 << 63) <= number < 1 << 63:
                return number
        except TypeError:
            pass
        self._complain(f"act returned {describe_value(move)}; a move is one integer")
        return wire.MALFORMED

    def _complain(self, words: str) -> None:
        if self._lines:
            self._lines -= 1
            print(words, flush=True)
