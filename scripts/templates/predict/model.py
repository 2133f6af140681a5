"""A class that is asked with `predict(state)`. Put your own file here as it is, and what it reads beside it."""


class Model:
    """Its constructor may ask for any of these, by name: observation_space, action_space, task_id, seed."""

    def __init__(self, action_space, seed):
        self.action_space = action_space
        self.action_space.seed(seed)

    def predict(self, state):
        """The action, or a pair of the action and a state, as Stable-Baselines3 has it."""
        return self.action_space.sample()
