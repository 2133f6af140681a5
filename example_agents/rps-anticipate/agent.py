"""Expects the other to step up, from rock to paper to scissors to rock, and plays what beats that.

It beats rps-counter, which beats rps-rock, which beats it: no single number can put these three in order.
"""

import numpy as np
from numpy.typing import NDArray


class Agent:
    def act_batch(self, observations: NDArray[np.int64]) -> NDArray[np.int64]:
        return (observations + 2) % 3
