"""MiniGrid's worlds for agents: picture and direction. The mission, a text, is left out, since agents are sent no texts."""

from typing import Any

import gymnasium
from gymnasium.wrappers import FilterObservation


def make_world(world: str, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """One of MiniGrid's worlds, by its id."""
    import minigrid  # noqa: F401  (registers the worlds; installed by `make minigrid` only)

    return FilterObservation(gymnasium.make(world, disable_env_checker=True, **kwargs), ["image", "direction"])


gymnasium.register("MiniGridImages-v0", entry_point=f"{__name__}:make_world")
