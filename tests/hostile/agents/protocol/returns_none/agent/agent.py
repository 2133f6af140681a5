"""Forgets to return."""


class Agent:
    def act(self, observation):
        return None
