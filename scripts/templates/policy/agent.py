"""An agent that acts at random. Replace `act` with something better."""


class Agent:
    """A fresh one is made for every episode. Ask for what you need, by name: any of
    observation_space, action_space, task_id, seed.
    """

    def __init__(self, action_space, seed):
        self.action_space = action_space
        self.action_space.seed(seed)

    def act(self, observation):
        """The action for one observation."""
        return self.action_space.sample()
