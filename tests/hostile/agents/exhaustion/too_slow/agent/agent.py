"""Takes longer for an answer than it may."""

import time


class Agent:
    def act(self, observation):
        time.sleep(30)
        return 0
