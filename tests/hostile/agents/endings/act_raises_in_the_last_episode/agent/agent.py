"""Plays well and raises an exception in its last episode."""


class Agent:
    born = 0

    def __init__(self):
        Agent.born += 1
        self.last = Agent.born == 12

    def act(self, observation):
        return [] + 1 if self.last and abs(observation[2]) > 0.1 else 0
