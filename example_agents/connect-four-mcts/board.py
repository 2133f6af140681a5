"""Connect Four boards as numbers, many at once: seven bits for each column, from the bottom up.

The topmost bit of a column stays empty, so that no line runs over from one column into the next.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Boards: TypeAlias = NDArray[np.uint64]

HEIGHT, WIDTH = 6, 7
BOTTOM = np.uint64(sum(1 << column * (HEIGHT + 1) for column in range(WIDTH)))
BOARD = BOTTOM * np.uint64((1 << HEIGHT) - 1)
COLUMNS = np.array([((1 << HEIGHT) - 1) << column * (HEIGHT + 1) for column in range(WIDTH)], np.uint64)
# The bit of each cell, as observations show them: the top row first.
ROWS = [[1 << column * (HEIGHT + 1) + row for column in range(WIDTH)] for row in reversed(range(HEIGHT))]
BITS = np.array(ROWS, np.uint64)
UP, ACROSS = 1, (HEIGHT, HEIGHT + 1, HEIGHT + 2)


def landing_cells(mover: Boards, other: Boards) -> Boards:
    """The lowest empty cell of every column that is not full."""
    return (mover | other) + BOTTOM & BOARD


def fours(stones: Boards) -> NDArray[np.bool_]:
    """Whether there are four in a row."""
    found = np.zeros_like(stones)
    for step in (UP, *ACROSS):
        pairs = stones & stones >> step
        found |= pairs & pairs >> 2 * step
    return found != 0


def winning_cells(stones: Boards) -> Boards:
    """The cells, taken or not, that would make four in a row of these stones."""
    found = stones << 1 & stones << 2 & stones << 3
    for step in ACROSS:
        after, before = stones << step, stones >> step
        found |= after & stones << 2 * step & (stones << 3 * step | before)
        found |= before & stones >> 2 * step & (stones >> 3 * step | after)
    return found
