"""Asks for the environment's seed as an argument of its constructor."""


class Agent:
    def __init__(self, environment_seed, beacon):
        self.seed = environment_seed

    def act(self, observation):
        return 0
