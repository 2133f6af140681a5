"""Pushes the cart under the pole: to the side the pole will lean to one step from now.

By the present lean alone, pushing would always come a step too late, and the mean return is 41.
"""

import numpy as np
from numpy.typing import NDArray

STEP = 0.02  # seconds


class Agent:
    memoryless = True

    def act(self, observation: NDArray[np.float32]) -> int:
        _, _, angle, turning = observation
        return int(angle + STEP * turning > 0)
