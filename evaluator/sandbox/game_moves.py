"""Moves of a game into ACTIONS bodies: a bad one costs its own match only, so it has a number of its own."""

import operator
from typing import Any

import numpy as np

from evaluator import wire
from evaluator.sandbox.values import describe_value

# Lines of complaint; the log is bounded, and going beyond it would be the player's fault.
LINES = 20


class MoveEncoder:
    """Does for a game what `Writer` does for other tasks; raises nothing that the agent's own objects do not raise."""

    def __init__(self) -> None:
        self._lines = LINES

    def singles(self, moves: list[Any]) -> bytes:
        """The body for one move per lane."""
        try:
            return np.fromiter(map(operator.index, moves), np.int64, len(moves)).tobytes()
        except (TypeError, OverflowError):
            return np.array([self._number(move) for move in moves], np.int64).tobytes()

    def stacked(self, moves: Any, count: int) -> bytes:
        """The body for moves stacked on the first axis; all are bad if they are not one for each lane."""
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
