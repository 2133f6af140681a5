"""Returns an object that raises when it is described."""


class Shy:
    def __repr__(self):
        raise ValueError("look away")


class Agent:
    def act(self, observation):
        return Shy()
