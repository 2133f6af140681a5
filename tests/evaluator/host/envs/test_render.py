"""Recorded episodes, stepped again by their environment alone and rendered on the way."""

import itertools
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from evaluator.host.envs.custom_metrics import RecordedEpisode
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.envs.render import RenderLimits, frame_steps, render_episode, with_rendering
from evaluator.host.errors import EnvironmentFault
from evaluator.model.config.task import Task

SEED = "0" * 31 + "7"
LIMITS = RenderLimits(frames=5, steps=100, seconds=10)


class Shy(gymnasium.Env[Any, Any]):
    """Rewards 1 a step for six steps; renders whatever it is told to."""

    metadata: ClassVar = {"render_modes": []}
    shows: Any = None

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = self.action_space = spaces.Discrete(2)
        self._step = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._step = 0
        return 0, {}

    def step(self, action: Any) -> Any:
        self._step += 1
        return 0, 1.0, self._step == 6, False, {}

    def render(self) -> Any:
        return self.shows(self._step) if callable(self.shows) else self.shows


class Writer(Shy):
    metadata: ClassVar = {"render_modes": ["human", "ansi"]}
    shows = staticmethod(lambda step: f"step {step}")


class Painter(Shy):
    metadata: ClassVar = {"render_modes": ["ansi", "rgb_array"]}
    shows = staticmethod(lambda step: np.full((4, 6, 4), step, np.uint8))


class Flat(Painter):
    shows = np.zeros((4, 6), np.uint8)


class Huge(Painter):
    shows = np.zeros((1, 5000, 3), np.uint8)


class Breaking(Painter):
    @staticmethod
    def shows(step: int) -> Any:
        raise OSError("no screen")


for kind in (Shy, Writer, Painter, Flat, Huge, Breaking):
    gymnasium.register(f"{kind.__name__}-watched-v0", kind)


def task(kind: type[Shy]) -> Task:
    return Task(id="t", env=f"{kind.__name__}-watched-v0", episodes=1)


def recorded(total: float = 6.0, steps: int = 6) -> RecordedEpisode:
    world, actions = load_gym_task(task(Shy)), [np.zeros(steps, np.int64)]
    return RecordedEpisode(seed=SEED, total=total, length=steps, gym_task=world, recorded=actions)


def watched(kind: type[Shy], what: RecordedEpisode, limits: RenderLimits = LIMITS) -> list[tuple[int, Any]]:
    world = with_rendering(load_gym_task(task(kind)))
    assert world is not None
    return list(render_episode(world, what, limits, itertools.count().__next__))


def test_the_first_and_the_last_moment_are_always_there() -> None:
    assert frame_steps(500, 5) == (0, 125, 250, 375, 500)
    assert frame_steps(2, 60) == (0, 1, 2)
    assert frame_steps(0, 60) == (0,)


def test_pictures_are_taken_after_the_steps_they_name() -> None:
    frames = watched(Painter, recorded())

    assert [step for step, _ in frames] == [0, 2, 3, 4, 6]
    assert all(picture.shape == (4, 6, 3) and int(picture[0, 0, 0]) == step for step, picture in frames)


def test_an_environment_that_only_writes_is_read() -> None:
    assert watched(Writer, recorded())[-1] == (6, "step 6")


def test_an_environment_that_renders_nothing_has_no_world_that_renders() -> None:
    assert with_rendering(load_gym_task(task(Shy))) is None


def test_what_returns_something_else_than_was_recorded_is_refused() -> None:
    with pytest.raises(EnvironmentFault, match=r"it returns 6\.0 where 7\.0 was recorded"):
        watched(Painter, recorded(total=7.0))


@pytest.mark.parametrize(("kind", "why"), [(Flat, "three colours"), (Huge, "4096 pixels"), (Breaking, "no screen")])
def test_what_is_no_picture_is_refused(kind: type[Shy], why: str) -> None:
    with pytest.raises(EnvironmentFault, match=why):
        watched(kind, recorded())


def test_time_and_length_are_bounded() -> None:
    with pytest.raises(EnvironmentFault, match="longer than 3 seconds"):
        watched(Painter, recorded(), RenderLimits(frames=5, steps=100, seconds=3))
    with pytest.raises(EnvironmentFault, match="6 steps is too long"):
        watched(Painter, recorded(), RenderLimits(frames=5, steps=5, seconds=10))
