"""Looks the action up in a table that train.py learnt by driving about."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TABLE: NDArray[np.int8] = np.load(Path(__file__).with_name("table.npy"), allow_pickle=False)


class Agent:
    memoryless = True

    def act(self, observation: int) -> int:
        return int(TABLE[observation])
