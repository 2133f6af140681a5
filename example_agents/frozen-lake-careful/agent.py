"""Knows the lake and that it is slippery, and follows the plan that value iteration finds at import."""

import numpy as np
from numpy.typing import NDArray

LAKE = ("SFFF", "FHFH", "FFFH", "HFFG")
SIZE = len(LAKE)
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))  # left, down, right, up: the environment's order
SWEEPS = 1000


def land(cell: int, move: int) -> int:
    """Cell reached by a move; the shore stops it."""
    row, column = (np.clip(at + by, 0, SIZE - 1) for at, by in zip(divmod(cell, SIZE), MOVES[move], strict=True))
    return int(row * SIZE + column)


def slippery_moves() -> NDArray[np.float64]:
    """Probability of going from cell to cell for each move, (4, 16, 16): as meant, or a quarter turn off."""
    chances = np.zeros((4, SIZE**2, SIZE**2))
    for cell, kind in enumerate("".join(LAKE)):
        for move in range(4):
            for slip in (-1, 0, 1):
                chances[move, cell, land(cell, (move + slip) % 4)] += (kind in "SF") / 3
    return chances


def plan() -> NDArray[np.int64]:
    """For each cell the move that most likely ends at the goal."""
    chances, value = slippery_moves(), np.zeros(SIZE**2)
    goal = np.array([float(kind == "G") for kind in "".join(LAKE)])
    for _ in range(SWEEPS):
        value = np.maximum(goal, (chances @ value).max(axis=0))
    return (chances @ value).argmax(axis=0)


PLAN = plan()


class Agent:
    memoryless = True

    def act(self, observation: int) -> int:
        return int(PLAN[observation])
