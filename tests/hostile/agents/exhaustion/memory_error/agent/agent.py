"""Is refused memory and says so."""


class Agent:
    def act(self, observation):
        return len(bytearray(1 << 60))
