"""Writes into its observation, hoping that the environment shares it."""


class Agent:
    def act(self, observation):
        observation[:] = 0
        observation.setflags(write=True)
        return 0
