"""Uses all the time that its clock allows in every match, so that the duel would last for hours."""

import time


class Agent:
    memoryless = True

    def act(self, observation):
        time.sleep(0.22)
        return int(observation["action_mask"].argmax())
