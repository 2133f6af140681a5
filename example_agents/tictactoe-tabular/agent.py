"""Looks the move up in a table that train.py learnt by playing against itself."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TABLE: NDArray[np.int8] = np.load(Path(__file__).with_name("table.npy"), allow_pickle=False)
# A position is a number of nine digits to the base of three: 1 for a stone of mine, 2 for one of theirs.
MINE_AND_THEIRS = np.outer(3 ** np.arange(9), [1, 2])


class Agent:
    def act_batch(self, observations: dict[str, NDArray[np.int8]]) -> NDArray[np.int8]:
        boards = observations["observation"].reshape(-1, 9, 2)
        return TABLE[(boards * MINE_AND_THEIRS).sum(axis=(1, 2))]
