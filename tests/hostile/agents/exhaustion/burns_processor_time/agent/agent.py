"""Uses more processor time in all than it may, with each answer in time."""

import time


class Agent:
    def act(self, observation):
        until = time.process_time() + 0.15
        while time.process_time() < until:
            pass
        return 0
