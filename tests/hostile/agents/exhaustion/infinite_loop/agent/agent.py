"""Thinks for ever."""


class Agent:
    def act(self, observation):
        while True:
            pass
