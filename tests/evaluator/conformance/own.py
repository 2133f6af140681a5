"""What a host might write: an environment with a limit of its own, and a metric."""

from typing import Any

import gymnasium
from gymnasium import spaces


class Counter(gymnasium.Env[Any, Any]):
    """Counts down from a drawn number; pays what is left for the right guess of its last bit."""

    def __init__(self, least: int = 3) -> None:
        self.observation_space = spaces.Discrete(64)
        self.action_space = spaces.Discrete(2)
        self._least, self._left = least, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._left = self._least + int(self.np_random.integers(20))
        return self._left, {}

    def step(self, action: Any) -> Any:
        paid = float(self._left) if action == self._left % 2 else -0.125
        self._left -= 1
        return self._left, paid, self._left == 0, False, {}


def share_of_ones(episodes: Any) -> float:
    """The mean of all actions."""
    actions = [int(action) for one in episodes for action in one.actions]
    return sum(actions) / len(actions)


gymnasium.register("Counter-v0", Counter)
