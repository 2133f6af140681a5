"""Chooses uniformly at random: the zero of every scale, and the shortest agent that meets the contract."""

from typing import Any

import gymnasium


class Agent:
    memoryless = True

    def __init__(self, action_space: gymnasium.Space[Any], seed: int) -> None:
        self.action_space = action_space
        self.action_space.seed(seed)

    def act(self, observation: Any) -> Any:
        if isinstance(observation, dict) and "action_mask" in observation:  # a game: not every action is legal
            legal = observation["action_mask"]
            return (self.action_space.np_random.random(len(legal)) + legal).argmax()  # below 1 where it is not
        return self.action_space.sample()
