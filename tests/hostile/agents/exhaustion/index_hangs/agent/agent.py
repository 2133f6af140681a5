"""Returns an object that hangs when it is converted to an integer."""

import time


class Number:
    def __index__(self):
        time.sleep(1000)
        return 0


class Agent:
    def act(self, observation):
        return Number()
