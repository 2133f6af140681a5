"""Environments of a host's own, with every kind of space."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Everything(gymnasium.Env[Any, Any]):
    """Five steps; rewards an action that is in the space."""

    def __init__(self) -> None:
        self.observation_space = spaces.Dict(
            {
                "picture": spaces.Box(0, 255, (3, 5), np.uint8),
                "parts": spaces.Tuple(
                    [spaces.Discrete(4), spaces.MultiBinary(3), spaces.Box(-np.inf, np.inf, (2,), np.float64)]
                ),
                "grid": spaces.MultiDiscrete([3, 7]),
            }
        )
        self.action_space = spaces.Tuple(
            [
                spaces.Discrete(3),
                spaces.Dict({"a": spaces.MultiDiscrete([2, 5]), "b": spaces.Box(-1, 1, (2, 2), np.float32)}),
            ]
        )
        self._left = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.observation_space.seed(int(self.np_random.integers(1 << 30)))
        self._left = 5
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), action
        self._left -= 1
        return self.observation_space.sample(), 1, self._left == 0, False, {}


class Shifted(gymnasium.Env[Any, Any]):
    """Discrete spaces that begin elsewhere than at zero."""

    def __init__(self) -> None:
        self.observation_space = spaces.Discrete(5, start=-2)
        self.action_space = spaces.Discrete(3, start=10)
        self._left = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._left = 5
        return -2, {}

    def step(self, action: Any) -> Any:
        assert action in (10, 11, 12)
        self._left -= 1
        return self._left - 2, float(action), False, self._left == 0, {}


class ManyJoints(gymnasium.Env[Any, Any]):
    """Actions of 400 numbers, in episodes that end by their time limit."""

    def __init__(self) -> None:
        self.observation_space = spaces.Discrete(2)
        self.action_space = spaces.Box(-1, 1, (400,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: Any) -> Any:
        return 0, 1.0, False, False, {}


gymnasium.register("Everything-v0", Everything)
gymnasium.register("ManyJoints-v0", ManyJoints, max_episode_steps=1000)
gymnasium.register("Shifted-v0", Shifted)
