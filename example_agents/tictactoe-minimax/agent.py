"""Perfect tic-tac-toe: looks at every game that can follow, remembering each position it has valued.

Of equally good moves it takes the one after which the fewest answers hold the other's ground.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

LINES = (0b111, 0b111000, 0b111000000, 0b1001001, 0b10010010, 0b100100100, 0b100010001, 0b1010100)
FULL = 0b111111111
CELLS = 1 << np.arange(9)


class Agent:
    memoryless = True

    def act(self, observation: dict[str, NDArray[np.int8]]) -> int:
        mine, theirs = (CELLS @ observation["observation"].reshape(9, 2)).tolist()
        return max(free(mine | theirs), key=lambda cell: (-value(theirs, mine | 1 << cell), traps(theirs, mine | 1 << cell)))


def free(board: int) -> list[int]:
    """The empty cells of a board."""
    return [cell for cell in range(9) if not board >> cell & 1]


@cache
def value(mover: int, other: int) -> int:
    """1 if the player to move wins against any play, 0 if the game is a draw, -1 if he loses. Boards are nine bits."""
    if any(other & line == line for line in LINES):
        return -1
    if mover | other == FULL:
        return 0
    return max(-value(other, mover | 1 << cell) for cell in free(mover | other))


def traps(mover: int, other: int) -> int:
    """How many moves of the player to move would be worse than his best."""
    answers = [-value(other, mover | 1 << cell) for cell in free(mover | other)]
    return sum(answer < value(mover, other) for answer in answers)
