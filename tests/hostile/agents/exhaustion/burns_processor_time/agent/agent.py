"""Each answer is in time; all of them together are not."""

import time


class Agent:
    def act(self, observation):
        until = time.process_time() + 0.15
        while time.process_time() < until:
            pass
        return 0
