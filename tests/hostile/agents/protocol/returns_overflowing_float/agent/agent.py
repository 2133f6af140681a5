"""Returns a number that is finite in 64 bits and infinite in 32."""


class Agent:
    def act(self, observation):
        return [1e300]
