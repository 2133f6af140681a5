"""Rendering of a recorded episode: its actions step the environment again, without the agent."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluator.host.envs.custom_metrics import RecordedEpisode
from evaluator.host.envs.gym_task import GymTask, import_entry_point
from evaluator.host.errors import EnvironmentFault

# The render modes to use, in order of preference. `ansi` is text.
MODES = ("rgb_array", "ansi")
# Pixels of a picture's width and height at most.
MAX_PICTURE_SIDE = 4096

Picture = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class RenderLimits:
    """Limits of rendering."""

    frames: int
    steps: int
    """Steps of an episode; longer episodes are not rendered."""
    seconds: float


def with_rendering(gym_task: GymTask) -> GymTask | None:
    """The same task with an environment that renders; None where it has none of the render modes.

    Raises:
        EnvironmentFault: the environment cannot be made.
    """
    with import_entry_point(f"the environment {gym_task.task.env_id} cannot be rendered"):
        environment = gym_task.make()
        modes = environment.metadata.get("render_modes") or ()
        environment.close()
    mode = next((mode for mode in MODES if mode in modes), None)
    if mode is None:
        return None
    spec = copy.deepcopy(gym_task.spec)
    spec.kwargs["render_mode"] = mode
    return replace(gym_task, spec=spec)


def frame_steps(length: int, frames: int) -> tuple[int, ...]:
    """The numbers of steps after which frames are taken: 0, `length`, and evenly between."""
    count = max(1, min(frames, length + 1))
    return tuple(round(float(step)) for step in np.linspace(0, length, count)) if count > 1 else (length,)


def render_episode(
    gym_task: GymTask, recorded: RecordedEpisode, limits: RenderLimits, clock: Callable[[], float]
) -> Iterator[tuple[int, Picture | str]]:
    """The chosen steps, each with what the environment renders after it; `gym_task` comes from `with_rendering`.

    Raises:
        EnvironmentFault: it takes too long, the environment fails, or its return is not the recorded one. The latter is seen
            after the last step only: discard the frames before it.
    """
    if recorded.length > limits.steps:
        raise EnvironmentFault(f"an episode of {recorded.length} steps is too long to be shown")
    until = clock() + limits.seconds
    steps = set(frame_steps(recorded.length, limits.frames))
    with import_entry_point(f"the environment {gym_task.task.env_id} cannot be rendered"):
        environment = gym_task.make()
        try:
            gym_task.start(environment, recorded.seed)
            total = 0.0
            for taken, action in enumerate((None, *recorded.actions)):
                if taken:
                    total += float(environment.step(action)[1])
                if taken in steps:
                    yield taken, _shown(environment.render())
                if clock() > until:
                    raise EnvironmentFault(f"it takes longer than {limits.seconds:g} seconds")
        finally:
            environment.close()
        if total != recorded.total:
            raise EnvironmentFault(f"it returns {total!r} where {recorded.total!r} was recorded")


def _shown(rendered: Any) -> Picture | str:
    if isinstance(rendered, str):
        return rendered
    picture = np.asarray(rendered)
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] < 3 or 0 in picture.shape:
        raise EnvironmentFault("it renders neither a text nor a picture of three colours")
    if max(picture.shape[:2]) > MAX_PICTURE_SIDE:
        raise EnvironmentFault(f"it renders a picture of more than {MAX_PICTURE_SIDE} pixels a side")
    return picture[:, :, :3].copy()
