"""Quarto without blunders, and perfect once few cells are free: from there on it looks at all that can follow.

Until then it looks at the other's next placement only: it wins if it can, and gives nothing that wins at once.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

FREE = -1
PIECES = CELLS = 16
PLACE = 16  # where the actions that place a piece begin; the ones before give a piece
SOLVED_FROM = 6  # free cells
ROWS = [tuple(range(first, first + 4)) for first in range(0, CELLS, 4)]
LINES = [*ROWS, *zip(*ROWS, strict=True), tuple(range(0, 16, 5)), tuple(range(3, 13, 3))]
ALL_BITS = 0b1111

Board = tuple[int, ...]


class Agent:
    memoryless = True

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def act(self, observation: dict[str, NDArray[np.int8]]) -> int:
        *board, hand = observation["observation"].tolist()
        actions: list[int] = self.rng.permutation(np.flatnonzero(observation["action_mask"])).tolist()
        rest = tuple(piece for piece in range(PIECES) if piece not in board and piece != hand)
        turns = CELLS if board.count(FREE) <= SOLVED_FROM else 1
        if hand == FREE:
            return best(actions, lambda piece: -placing(tuple(board), piece, rest, turns))[0]
        return best(actions, lambda action: placed(tuple(board), hand, action - PLACE, rest, turns))[0]


def best(options: Iterable[int], value: Callable[[int], int]) -> tuple[int, int]:
    """The first of the best options, and its value; 1 is a win, and nothing is better."""
    choice, most = -1, -2
    for option in options:
        if (worth := value(option)) > most:
            choice, most = option, worth
            if worth == 1:
                break
    return choice, most


@lru_cache(maxsize=50_000)
def placing(board: Board, piece: int, rest: tuple[int, ...], turns: int) -> int:
    """What a position is worth to the one who has to place that piece, looking so many turns ahead."""
    gaps = open_lines(board)
    if any(piece & have or ~piece & lack for _, have, lack in gaps):
        return 1
    others = tuple(other for other in rest if other != piece)
    if turns == 1 or not others:
        return 0
    cells = [cell for cell in range(CELLS) if board[cell] == FREE]
    return best(cells, lambda cell: placed(board, piece, cell, others, turns - 1))[1]


def placed(board: Board, piece: int, cell: int, rest: tuple[int, ...], turns: int) -> int:
    """What it is worth to place the piece there and then to give the best of the rest."""
    if any(cell == gap and (piece & have or ~piece & lack) for gap, have, lack in open_lines(board)):
        return 1
    if not rest:
        return 0
    after = (*board[:cell], piece, *board[cell + 1 :])
    return best(rest, lambda other: -placing(after, other, rest, turns))[1]


@lru_cache(maxsize=10_000)
def open_lines(board: Board) -> list[tuple[int, int, int]]:
    """Of each line with one free cell: that cell, the properties that its three pieces share, and that they all lack."""
    found = []
    for line in LINES:
        pieces = [board[cell] for cell in line]
        if pieces.count(FREE) == 1:
            gap = pieces.index(FREE)
            one, two, three = pieces[:gap] + pieces[gap + 1 :]
            found.append((line[gap], one & two & three, ALL_BITS & ~(one | two | three)))
    return found
