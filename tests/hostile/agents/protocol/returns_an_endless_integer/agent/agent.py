"""An integer too long to be printed at all."""


class Agent:
    def act(self, observation):
        return 1 << 100_000
