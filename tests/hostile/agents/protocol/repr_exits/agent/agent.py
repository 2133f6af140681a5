"""Returns an object that calls exit when it is described."""


class Shy:
    def __repr__(self):
        raise SystemExit(0)


class Agent:
    def act(self, observation):
        return Shy()
