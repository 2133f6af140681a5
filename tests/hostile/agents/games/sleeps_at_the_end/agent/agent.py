"""Hangs when it is told how a match ended."""

import time


class Agent:
    def act(self, observation):
        return int(observation["action_mask"].argmax())

    def end(self, observation, reward):
        time.sleep(1000)
