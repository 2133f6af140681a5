"""Returns an integer with too many digits to be printed."""


class Agent:
    def act(self, observation):
        return 1 << 100_000
