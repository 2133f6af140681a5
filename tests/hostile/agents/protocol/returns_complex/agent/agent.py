"""A torque with an imaginary part."""


class Agent:
    def act(self, observation):
        return [1j]
