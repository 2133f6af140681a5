"""Lands in three loops: position sets the drift wanted, drift the tilt wanted, tilt the side engines.

The main engine holds a sinking speed that falls with the height, and once a leg touches it only softens.
Written by hand (mean return 275), then its ten numbers were tuned by sampling around them (285).
"""

import numpy as np
from numpy.typing import NDArray

NOTHING, TURN_LEFT, MAIN, TURN_RIGHT = range(4)  # the engine whose firing turns the lander so
HOMING, MAX_DRIFT = 0.73, 0.25  # drift wanted per distance from the pad
LEAN, MAX_TILT = 1.4, 0.53  # tilt wanted per unwanted drift
STIFFNESS, DAMPING, IDLE = 1.13, 1.3, 0.065  # turning; below IDLE no side engine fires
TOUCHDOWN_SPEED, SINK_PER_HEIGHT, HARD_LANDING = 0.29, 0.44, 0.11


class Agent:
    memoryless = True

    def act(self, observation: NDArray[np.float32]) -> int:
        x, height, drift, climb, tilt, turning, *legs = observation.tolist()
        if any(legs):
            return MAIN if climb < -HARD_LANDING else NOTHING
        turn = STIFFNESS * (wanted_tilt(x, drift) - tilt) - DAMPING * turning
        too_fast = climb < -TOUCHDOWN_SPEED - SINK_PER_HEIGHT * max(height, 0.0)
        if too_fast and abs(turn) < 3 * IDLE:
            return MAIN
        if abs(turn) > IDLE:
            return TURN_LEFT if turn > 0 else TURN_RIGHT
        return MAIN if too_fast else NOTHING


def wanted_tilt(x: float, drift: float) -> float:
    """Tilt that steers towards the pad at a modest speed."""
    wanted_drift = min(max(-HOMING * x, -MAX_DRIFT), MAX_DRIFT)
    return min(max(LEAN * (drift - wanted_drift), -MAX_TILT), MAX_TILT)
