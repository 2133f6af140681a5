"""Does not come back from its first end."""

import time


class Agent:
    def act(self, observation):
        return int(observation["action_mask"].argmax())

    def end(self, observation, reward):
        time.sleep(1000)
