"""Returns a negative action."""


class Agent:
    def act(self, observation):
        return -1
