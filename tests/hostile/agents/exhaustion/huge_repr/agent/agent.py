"""Returns an object whose description has 100 million characters."""


class Verbose:
    def __repr__(self):
        return "x" * 100_000_000


class Agent:
    def act(self, observation):
        return Verbose()
