"""Connect Four by Monte-Carlo tree search, in numpy: the trees of all positions asked about grow side by side.

Four steps, ROUNDS times: walk down each tree by the upper confidence bound, add the position found there, play from it
at random to the end, and carry the results back up. The column most often tried is played.
"""

from typing import TypeAlias

import numpy as np
from board import BITS, COLUMNS, Boards, fours, landing_cells, winning_cells
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]

ROUNDS = 75  # of walking, adding, playing and carrying back
PLAYOUTS = 256  # at least one for each position; more where there are few positions
CURIOSITY = 0.5  # weight of what is little known against what looks good


class Agent:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def act_batch(self, observations: dict[str, NDArray[np.int8]]) -> Numbers:
        stones = np.where(observations["observation"], BITS[:, :, None], 0).sum(axis=(1, 2))
        trees = Trees(stones[:, 0], stones[:, 1])
        for index in range(1, ROUNDS + 1):
            trees.grow(index, self.rng)
        return trees.visits[:, 0].argmax(axis=1)


class Trees:
    """One tree for each position. A node is a number, 0 the root; what is counted belongs to the columns of a node."""

    def __init__(self, mover: Boards, other: Boards) -> None:
        self.roots = mover, other
        shape = len(mover), ROUNDS + 1, len(COLUMNS)
        self.children = np.zeros(shape, np.int64)  # the node that a column leads to; 0 if not added yet
        self.visits = np.zeros(shape)
        self.gains = np.zeros(shape)

    def grow(self, index: int, rng: np.random.Generator) -> None:
        """Add one node to each tree, with that number, and learn from playing on from there."""
        mover, other = (board.copy() for board in self.roots)
        rows, nodes = np.arange(len(mover)), np.zeros(len(mover), np.int64)
        path = []
        while len(rows):
            landing = landing_cells(mover[rows], other[rows])
            columns = self.choose(rows, nodes, landing, rng)
            path.append((rows, nodes, columns))
            mover[rows], other[rows] = other[rows], mover[rows] | landing & COLUMNS[columns]
            ahead = self.children[rows, nodes, columns]
            add = (ahead == 0) & ~fours(other[rows])  # nothing is added where the game is over
            self.children[rows[add], nodes[add], columns[add]] = index
            rows, nodes = rows[ahead > 0], ahead[ahead > 0]
        values = played_out(mover, other, rng)
        for rows, nodes, columns in reversed(path):
            values[rows] = -values[rows]  # what is good for one is bad for the other
            self.visits[rows, nodes, columns] += 1
            self.gains[rows, nodes, columns] += values[rows]

    def choose(self, rows: Numbers, nodes: Numbers, landing: Boards, rng: np.random.Generator) -> Numbers:
        """The column of the highest upper confidence bound; untried ones come first."""
        visits = self.visits[rows, nodes]
        tries = np.maximum(visits, 1)
        bound = self.gains[rows, nodes] / tries
        bound += CURIOSITY * np.sqrt(np.log(1 + visits.sum(axis=1, keepdims=True)) / tries)
        bound[visits == 0] = 1e3 + rng.random((visits == 0).sum())
        bound[(landing[:, None] & COLUMNS) == 0] = -np.inf
        return bound.argmax(axis=1)


def played_out(mover: Boards, other: Boards, rng: np.random.Generator) -> NDArray[np.float64]:
    """The mean result, for the player to move, of games in which both win when they can and else move at random."""
    times = max(1, PLAYOUTS // len(mover))
    lost = fours(other)
    results = np.where(lost, -1.0, 0.0).repeat(times)
    live = np.flatnonzero(~lost.repeat(times))
    mover, other = (board.repeat(times)[live] for board in (mover, other))
    sign = 1.0
    while len(live):
        landing = landing_cells(mover, other)
        wins = winning_cells(mover) & landing != 0
        results[live[wins]] = sign
        on = ~wins & (landing != 0)
        live, mover, other, landing = live[on], mover[on], other[on], landing[on]
        cells = landing[:, None] & COLUMNS
        lots = (rng.random(cells.shape, np.float32) + (cells != 0)).argmax(axis=1)
        mover, other = other, mover | cells[np.arange(len(live)), lots]
        sign = -sign
    return results.reshape(-1, times).mean(axis=1)
