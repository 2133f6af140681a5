"""Describes itself for ever."""


class Epic:
    def __repr__(self):
        while True:
            pass


class Agent:
    def act(self, observation):
        return Epic()
