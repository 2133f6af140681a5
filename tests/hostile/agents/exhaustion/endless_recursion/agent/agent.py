"""Recurses without end."""


class Agent:
    def act(self, observation):
        return self.act(observation)
