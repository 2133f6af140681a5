"""Watches a recorded episode again: its actions step the environment, which renders some of the steps. No agent runs."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluator.host.envs.gym_task import EnvironmentFault, GymTask, import_entry_point

# What is taken, the first that an environment has. `ansi` is text.
MODES = ("rgb_array", "ansi")
# Wider or higher pictures are no pictures of a game.
SIDE = 4096

Picture = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class RecordedActions:
    """One episode as it was recorded."""

    seed: str
    """Of its environment, as results state it."""
    actions: Sequence[npt.NDArray[np.generic]]
    """Its part of every leaf of the trace's actions, as `checked_actions` gives them."""
    total: float
    """Its return."""

    @property
    def length(self) -> int:
        """Its steps."""
        return len(self.actions[0])


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How much is rendered at most."""

    frames: int
    """Pictures of one episode."""
    steps: int
    """Steps of an episode; longer ones are not watched."""
    seconds: float
    """How long one episode may take."""


def with_rendering(world: GymTask) -> GymTask | None:
    """The same world with an environment that renders; None where it can render nothing that could be kept.

    Raises:
        WorldError: the environment cannot be made.
    """
    with import_entry_point(f"the environment {world.task.env_id} cannot be rendered"):
        environment = world.make()
        modes = environment.metadata.get("render_modes") or ()
        environment.close()
    mode = next((mode for mode in MODES if mode in modes), None)
    if mode is None:
        return None
    spec = copy.deepcopy(world.spec)
    spec.kwargs["render_mode"] = mode
    return replace(world, spec=spec)


def chosen_steps(length: int, frames: int) -> tuple[int, ...]:
    """After how many steps pictures are taken: before the first, after the last, and evenly between."""
    count = max(1, min(frames, length + 1))
    return tuple(round(float(step)) for step in np.linspace(0, length, count)) if count > 1 else (length,)


def render_episode(
    world: GymTask, recorded: RecordedActions, bounds: Bounds, clock: Callable[[], float]
) -> Iterator[tuple[int, Picture | str]]:
    """The steps that are watched, each with what the environment shows after it; `world` is one with rendering.

    Raises:
        WorldError: it takes too long, the environment fails, or it gives another return than was recorded: a picture of
            something else is worse than none. It comes when the last step is taken, so what came before does not count.
    """
    if recorded.length > bounds.steps:
        raise EnvironmentFault(f"an episode of {recorded.length} steps is too long to be shown")
    until = clock() + bounds.seconds
    wanted = set(chosen_steps(recorded.length, bounds.frames))
    with import_entry_point(f"the environment {world.task.env_id} cannot be rendered"):
        environment = world.make()
        try:
            world.start(environment, recorded.seed)
            total = 0.0
            for taken, action in enumerate((None, *world.decoder().actions(list(recorded.actions)))):
                if taken:
                    total += float(environment.step(action)[1])
                if taken in wanted:
                    yield taken, _shown(environment.render())
                if clock() > until:
                    raise EnvironmentFault(f"it takes longer than {bounds.seconds:g} seconds")
        finally:
            environment.close()
        if total != recorded.total:
            raise EnvironmentFault(f"it returns {total!r} where {recorded.total!r} was recorded")


def _shown(rendered: Any) -> Picture | str:
    """What an environment rendered, if it is a picture or a text."""
    if isinstance(rendered, str):
        return rendered
    picture = np.asarray(rendered)
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] < 3 or 0 in picture.shape:
        raise EnvironmentFault("it renders neither a text nor a picture of three colours")
    if max(picture.shape[:2]) > SIDE:
        raise EnvironmentFault(f"it renders a picture of more than {SIDE} pixels a side")
    return picture[:, :, :3].copy()
