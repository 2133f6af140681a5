"""Raises a message of emoji, which take twelve bytes each in ASCII JSON."""


class Agent:
    def act(self, observation):
        raise ValueError("\N{PILE OF POO}" * 5000)
