"""An agent that acts at random. Replace `act` with something better."""


class Agent:
    """A fresh one plays every episode. It may ask by name: observation_space, action_space, task_id, seed."""

    def __init__(self, action_space, seed):
        self.action_space = action_space
        self.action_space.seed(seed)

    def act(self, observation):
        """The action for one observation. A game says in its mask which moves are legal."""
        mask = observation.get("action_mask") if isinstance(observation, dict) else None
        return self.action_space.sample(mask)
