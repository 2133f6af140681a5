"""Raises a message that cannot be encoded."""


class Agent:
    def act(self, observation):
        raise ValueError("\ud800\x1b[2J\u202egnp.exe\x00" * 500)
