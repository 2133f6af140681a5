"""Pumps the pendulum to the energy it has when upright, then holds it there with a spring and a damper."""

import math

import numpy as np
from numpy.typing import NDArray

GRAVITY = 15.0  # angular acceleration of the fallen-over rod: 3 g / 2 l
CATCH_ANGLE, CATCH_ENERGY = 0.6, 6.0
SPRING, DAMPER = 12.0, 2.5
MAX_TORQUE = 2.0


class Agent:
    memoryless = True

    def act(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        cosine, sine, speed = (float(value) for value in observation)
        angle = math.atan2(sine, cosine)
        energy = speed**2 / 2 + GRAVITY * (cosine - 1)
        if abs(angle) < CATCH_ANGLE and abs(energy) < CATCH_ENERGY:
            torque = -SPRING * angle - DAMPER * speed
        else:
            torque = -energy * math.copysign(1.0, speed)
        return np.clip([torque], -MAX_TORQUE, MAX_TORQUE).astype(np.float32)
