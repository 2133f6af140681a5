"""Plays what beats the other's last throw, as many people do. Rock is 0, paper 1, scissors 2; 3 is 'not yet thrown'."""

import numpy as np
from numpy.typing import NDArray


class Agent:
    def act_batch(self, observations: NDArray[np.int64]) -> NDArray[np.int64]:
        return (observations + 1) % 3
