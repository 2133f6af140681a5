"""Computes forever."""


class Agent:
    def act(self, observation):
        while True:
            pass
