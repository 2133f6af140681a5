"""Each answer is in time; all of them together are not."""

import time


class Agent:
    def act(self, observation):
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            pass
        return 0
