"""Raises an exception in the constructor of its one instance."""


class Agent:
    memoryless = True

    def __init__(self):
        raise ValueError("no weights today")

    def act(self, observation):
        return 0
