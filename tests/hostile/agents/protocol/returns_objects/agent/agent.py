"""Returns an array that holds objects."""


class Agent:
    def act(self, observation):
        return [self]
