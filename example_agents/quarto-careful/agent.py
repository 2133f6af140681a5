"""Quarto without blunders: places where it wins, and gives no piece with which the other wins at once.

It also places so that some harmless piece is left to give. What is equally good is decided by lot.
"""

import numpy as np
from numpy.typing import NDArray

FREE = -1
PIECES = CELLS = 16
PLACE = 16  # where the actions that place a piece begin; the ones before give a piece
ROWS = [range(first, first + 4) for first in range(0, CELLS, 4)]
LINES = [*ROWS, *zip(*ROWS, strict=True), range(0, 16, 5), range(3, 13, 3)]
ALL_BITS = 0b1111


class Agent:
    memoryless = True

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def act(self, observation: dict[str, NDArray[np.int8]]) -> int:
        *board, hand = observation["observation"].tolist()
        legal = np.flatnonzero(observation["action_mask"]).tolist()
        if hand == FREE:
            return int(self.rng.choice(harmless(legal, board) or legal))
        winning = [PLACE + cell for cell in winning_cells(hand, board)]
        return int(self.rng.choice(winning or [a for a in legal if leaves_harmless(hand, a - PLACE, board)] or legal))


def winning_cells(piece: int, board: list[int]) -> list[int]:
    """The free cells where a piece completes a line that shares a property."""
    found = []
    for line in LINES:
        pieces = [board[cell] for cell in line]
        if pieces.count(FREE) == 1:
            have = lack = ALL_BITS  # the properties that all have, that none has
            for other in (piece, *pieces):
                if other != FREE:
                    have, lack = have & other, lack & ~other
            if have or lack:
                found.append(line[pieces.index(FREE)])
    return found


def harmless(pieces: list[int], board: list[int]) -> list[int]:
    """Those of the pieces that win nowhere."""
    return [piece for piece in pieces if not winning_cells(piece, board)]


def leaves_harmless(piece: int, cell: int, board: list[int]) -> bool:
    """Whether something harmless is left to give after that placement."""
    after = [*board[:cell], piece, *board[cell + 1 :]]
    return bool(harmless([rest for rest in range(PIECES) if rest not in after], after))
