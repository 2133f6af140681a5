"""Raises what ordinary handlers let through."""


class Agent:
    def act(self, observation):
        raise KeyboardInterrupt
