"""A message as long as it may be, of characters that take twelve bytes each in ASCII JSON."""


class Agent:
    def act(self, observation):
        raise ValueError("\N{PILE OF POO}" * 5000)
