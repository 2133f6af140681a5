"""Swings up like a child on a swing: the elbow pushes against the way the upper arm swings."""

import numpy as np
from numpy.typing import NDArray

PUSH_BACK, PUSH_ON = 0, 2


class Agent:
    memoryless = True

    def act(self, observation: NDArray[np.float32]) -> int:
        upper_arm_speed = observation[4]
        return PUSH_BACK if upper_arm_speed > 0 else PUSH_ON
