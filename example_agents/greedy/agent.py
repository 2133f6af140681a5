"""Wins if one move wins, else takes the cell where the other would win, else moves at random.

Tic-tac-toe and Connect Four show both players' stones as planes, so one agent plays both: it only needs the lines of the
board it sees, and the cell that an action fills.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

Cell = tuple[int, int]
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


class Agent:
    memoryless = True

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def act(self, observation: dict[str, NDArray[np.int8]]) -> int:
        planes = observation["observation"]
        mine, theirs = (set(zip(*np.nonzero(planes[:, :, side]), strict=True)) for side in (0, 1))
        legal = np.flatnonzero(observation["action_mask"]).tolist()
        cells = [filled(action, planes) for action in legal]
        for stones in (mine, theirs):
            for action, cell in zip(legal, cells, strict=True):
                if any(line <= stones for line in lines_through(cell, planes.shape[:2])):
                    return int(action)
        return int(self.rng.choice(legal))


def filled(action: int, planes: NDArray[np.int8]) -> Cell:
    """The cell an action puts a stone on."""
    height, width, _ = planes.shape
    if width == height:
        return divmod(action, width)
    return height - 1 - int(planes[:, action].sum()), action  # stones fall to the lowest free row


@cache
def lines_through(cell: Cell, shape: tuple[int, int]) -> list[set[Cell]]:
    """Each line through a cell, without the cell: three in a row on a square board, four on another."""
    length = 3 if shape[0] == shape[1] else 4
    found = []
    for down, right in DIRECTIONS:
        for start in range(1 - length, 1):
            line = {(cell[0] + (start + k) * down, cell[1] + (start + k) * right) for k in range(length)}
            if all(0 <= y < shape[0] and 0 <= x < shape[1] for y, x in line):
                found.append(line - {cell})
    return found
