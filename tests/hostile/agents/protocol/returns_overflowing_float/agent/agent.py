"""Finite in 64 bits, infinite in 32."""


class Agent:
    def act(self, observation):
        return [1e300]
