"""Games of a host's own, small enough to know every outcome by heart."""

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

NAMES = ["left", "right"]


class Tiny(AECEnv):  # type: ignore[type-arg]
    """The bones of a game: who moves follows a pattern, and `score` says what a move is worth when."""

    metadata: ClassVar[dict[str, Any]] = {"name": "tiny"}

    def __init__(self, pattern: str = "lr", length: int = 6, masked: bool = True, cut: bool = False) -> None:
        self.possible_agents = list(NAMES)
        self._pattern = [NAMES["lr".index(letter)] for letter in pattern]
        self._length, self._masked, self._cut = length, masked, cut

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        seen = spaces.Box(-1, 1 << 20, (3,), np.int32)
        mask = spaces.Box(0, 1, (4,), np.int8)
        return spaces.Dict({"action_mask": mask, "observation": seen}) if self._masked else seen

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(4)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents = list(NAMES)
        self.moves: list[int] = []
        self.start = (seed or 0) % 1000
        self.rewards = dict.fromkeys(NAMES, 0)
        self.terminations = dict.fromkeys(NAMES, False)
        self.truncations = dict.fromkeys(NAMES, False)
        self._cumulative_rewards = dict.fromkeys(NAMES, 0)
        self.infos: dict[str, Any] = {name: {} for name in NAMES}
        self.agent_selection = self._pattern[0]

    def observe(self, agent: str) -> Any:
        """Who asks, how many moves were made, what the last one was; move 3 is legal at even plies only."""
        seen = np.array([NAMES.index(agent), len(self.moves), self.moves[-1] if self.moves else -1], np.int32)
        mask = np.array([1, 1, 1, len(self.moves) % 2 == 0], np.int8)
        return {"action_mask": mask, "observation": seen} if self._masked else seen

    def step(self, action: Any) -> None:
        if self.terminations[self.agent_selection] or self.truncations[self.agent_selection]:
            self._was_dead_step(action)
            return
        mover = self.agent_selection
        self._clear_rewards()
        self.rewards[mover] = int(action)
        self.moves.append(int(action))
        if len(self.moves) >= self._length:
            ends = self.truncations if self._cut else self.terminations
            ends.update(dict.fromkeys(NAMES, True))
        self.agent_selection = self._pattern[len(self.moves) % len(self._pattern)]
        self._accumulate_rewards()


class OneLeaves(Tiny):
    """The left player is done after its second move; the right one goes on alone."""

    def step(self, action: Any) -> None:
        dead = self.terminations[self.agent_selection]
        super().step(action)
        if not dead and len(self.moves) == 3:
            self.terminations["left"] = True
            self.agent_selection = "left"
            self._skip_agent_selection = "right"


class Dealt(Tiny):
    """Each player holds a card from the seed; the right one wins by guessing the left one's."""

    def __init__(self) -> None:
        super().__init__(length=2)

    def observe(self, agent: str) -> Any:
        seen = super().observe(agent)
        seen["observation"][2] = self._card(agent)
        return seen

    def step(self, action: Any) -> None:
        if not self.terminations[self.agent_selection] and self.moves:
            action, guess = 0, action
            super().step(action)
            self.rewards["right"] = 1 if guess == self._card("left") else -1
            return
        super().step(0 if not self.terminations[self.agent_selection] else action)

    def _card(self, agent: str) -> int:
        return self.start // (3 if agent == "left" else 9) % 3


class Three(Tiny):
    """Not a game of two."""

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = ["a", "b", "c"]


class Uneven(Tiny):
    """Two spaces."""

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(4 if agent == "left" else 5)


class Shifted(Tiny):
    """Moves that begin with 1."""

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(4, start=1)


class Mismasked(Tiny):
    """A mask that is too short."""

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Dict({"action_mask": spaces.Box(0, 1, (3,), np.int8), "observation": spaces.Box(0, 1, (1,))})


class Broken(Tiny):
    """Fails at its third move, which is nobody's fault but the host's."""

    def step(self, action: Any) -> None:
        if len(self.moves) == 2:
            raise RuntimeError("the board fell down")
        super().step(action)


def raw_env(**kwargs: Any) -> Tiny:
    """What a module without `module:factory` is asked for."""
    return Tiny(**kwargs)
