"""An array that holds the agent itself."""


class Agent:
    def act(self, observation):
        return [self]
