"""A player that moves at random. Replace `act` with something better."""


class Agent:
    """A fresh one is made for every match. Ask for what you need, by name: any of
    observation_space, action_space, task_id, seed.
    """

    def __init__(self, action_space, seed):
        self.action_space = action_space
        self.action_space.seed(seed)

    def act(self, observation):
        """The move for one position. The mask has a 1 for each legal move; a game without one allows every move."""
        mask = observation["action_mask"] if isinstance(observation, dict) else None
        return self.action_space.sample(mask)

    def end(self, observation, reward):
        """The match is over: your view of its end, and what you earned. Remove this if you need not know."""
