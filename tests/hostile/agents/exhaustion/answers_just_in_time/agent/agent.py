"""Sleeps a little before every answer: each is in time, and the evaluation would last for hours."""

import time


class Agent:
    def act(self, observation):
        time.sleep(0.3)
        return 0
