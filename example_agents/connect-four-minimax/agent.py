"""Connect Four by minimax with alpha-beta pruning: five moves deep, on boards of bits.

A board is one number of 49 bits, seven for each column from the bottom up; the topmost bit of a column stays empty, so
that no line runs over from one column into the next.
"""

import functools

import numpy as np
from numpy.typing import NDArray

DEPTH = 5
HEIGHT, WIDTH = 6, 7
BITS = 1 << (np.arange(WIDTH) * (HEIGHT + 1) + np.arange(HEIGHT)[::-1, None])  # of each cell, the top row first
BOTTOM = sum(1 << column * (HEIGHT + 1) for column in range(WIDTH))
BOARD = BOTTOM * ((1 << HEIGHT) - 1)
COLUMNS = [(column, ((1 << HEIGHT) - 1) << column * (HEIGHT + 1)) for column in (3, 2, 4, 1, 5, 0, 6)]  # the best ones first
DIRECTIONS = (1, HEIGHT, HEIGHT + 1, HEIGHT + 2)  # up, the two diagonals beside it, across
WON = 1000


class Agent:
    memoryless = True

    def act(self, observation: dict[str, NDArray[np.int8]]) -> int:
        mine, theirs = (int((BITS * observation["observation"][:, :, side]).sum()) for side in (0, 1))
        return best(mine, theirs, DEPTH, -WON - DEPTH, WON + DEPTH)[1]


def best(mover: int, other: int, depth: int, alpha: int, beta: int) -> tuple[int, int]:
    """The value for the player to move, as far as it matters between alpha and beta, and his column."""
    landing = (mover | other) + BOTTOM & BOARD
    choice = -1
    for column, cells in COLUMNS:
        move = landing & cells
        if not move:
            continue
        worth = judged(mover | move, other, depth, alpha, beta)
        if worth > alpha or choice < 0:
            choice, alpha = column, max(worth, alpha)
        if alpha >= beta:
            break
    return alpha, choice


def judged(mover: int, other: int, depth: int, alpha: int, beta: int) -> int:
    """The value for the player who has just moved."""
    if completes_four(mover):
        return WON + depth  # sooner is better
    if mover | other == BOARD:
        return 0
    if depth == 1:
        return chances(mover, other) - chances(other, mover)
    return -best(other, mover, depth - 1, -beta, -alpha)[0]


def completes_four(stones: int) -> bool:
    """Whether there are four in a row."""
    for step in DIRECTIONS:
        pairs = stones & stones >> step
        if pairs & pairs >> 2 * step:
            return True
    return False


# Half of the positions come up again: in other orders of the same moves, and in the next turn.
@functools.lru_cache(maxsize=1 << 18)
def chances(stones: int, others: int) -> int:
    """How many lines of four are still open to these stones, counted once more for each stone in them."""
    free = BOARD & ~others
    total = 0
    for step in DIRECTIONS:
        pairs = free & free >> step
        lines = pairs & pairs >> 2 * step
        total += sum((lines & stones >> k * step).bit_count() for k in range(4))
    return total
