"""Returns actions for fewer episodes than it was asked about."""

import numpy as np


class Agent:
    def act_batch(self, observations):
        return np.zeros(len(observations) - 1, np.int64)
