"""Asks for what it must not have."""


class Agent:
    def __init__(self, environment_seed, beacon):
        self.seed = environment_seed

    def act(self, observation):
        return 0
