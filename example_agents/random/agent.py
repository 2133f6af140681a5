"""Chooses uniformly at random: the zero of every scale, and the shortest agent that meets the contract."""

from typing import Any

import gymnasium


class Agent:
    memoryless = True

    def __init__(self, action_space: gymnasium.Space[Any], seed: int) -> None:
        self.action_space = action_space
        self.action_space.seed(seed)

    def act(self, observation: Any) -> Any:
        return self.action_space.sample()
