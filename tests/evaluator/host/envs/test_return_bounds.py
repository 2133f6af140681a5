"""The `bounds` in challenge.yml: derived from the sources of the environments, and kept by agents that try to leave them."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.box2d import bipedal_walker as walker

from evaluator.host.digests.image_files import ROOT
from evaluator.host.loading.yaml_loader import read_challenge
from evaluator.model.config.task import Task
from tests.docs.test_examples import source

TASKS = {task.id: task for task in read_challenge(ROOT / "challenge.yml").tasks}
Policy = Callable[[Any, int], Any]


def bounds(task_id: str) -> tuple[float, float]:
    stated = TASKS[task_id].bounds
    assert stated is not None
    return stated


def returns(task_id: str, policy: Policy, episodes: int) -> list[float]:
    """Returns of a policy, which gets the observation and the number of the step."""
    environment = gymnasium.make(task_id)
    totals = []
    for seed in range(episodes):
        observation, _ = environment.reset(seed=seed)
        environment.action_space.seed(seed)
        total, over = 0.0, False
        for step in itertools.count():
            if over:
                break
            observation, reward, terminated, truncated, _ = environment.step(policy(observation, step))
            total, over = total + float(reward), terminated or truncated
        totals.append(total)
    return totals


def largest_pendulum_cost(angles: int, speeds: int, steps: int) -> float:
    """A cost that no torques exceed in so many steps, from any angle and any speed up to 1.

    By dynamic programming over cells of the state: the cost of a cell is the largest in it, and from a cell every cell can
    be reached that overlaps with what the environment's equations make of any state in it, at any torque.
    """
    step, angle_width, speed_width = 0.05, 2 * math.pi / angles, 16 / speeds
    low_angle = -math.pi + angle_width * np.arange(angles)
    low_speed = -8 + speed_width * np.arange(speeds)
    largest = [np.maximum(low**2, (low + width) ** 2) for low, width in ((low_angle, angle_width), (low_speed, speed_width))]
    cost = largest[0][:, None] + 0.1 * largest[1] + 0.001 * 2**2
    # The next angle is the angle plus the step times the next speed: cells to the right of the present one, by next speed.
    first = np.floor(step * low_speed / angle_width - 1e-9).astype(int)
    last = np.ceil(step * (low_speed + speed_width) / angle_width + 1e-9).astype(int)
    # The next speed: the speed plus step (15 sin(angle) + 3 torque), cut to 8. In a cell a sine bends by less than width²/8.
    sines = np.sin([low_angle, low_angle + angle_width])
    pull = 15 * step * np.array([sines.min(0) - angle_width**2 / 8, sines.max(0) + angle_width**2 / 8])
    down = np.floor((pull[0] - 3 * 2 * step) / speed_width - 1e-9).astype(int)
    up = np.ceil((pull[1] + 3 * 2 * step) / speed_width + 1e-9).astype(int)
    reach = int((up - down).max()) + 1
    rows, columns, edge = np.arange(angles)[:, None], np.arange(speeds)[None], int(max(-down.min(), up.max())) + reach
    most = np.zeros((angles, speeds))
    for _ in range(steps):
        moved = [most[(rows + np.minimum(first + k, last)) % angles, columns] for k in range(int((last - first).max()) + 1)]
        padded = np.pad(np.max(moved, axis=0), ((0, 0), (edge, edge)), mode="edge")
        reached = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=1).max(axis=2)
        most = cost + reached[rows, np.minimum(columns + down[:, None] + edge, reached.shape[1] - 1)]
    return float(most[:, np.abs(low_speed + speed_width / 2) <= 1 + speed_width].max())


def test_no_torques_cost_more_on_the_pendulum() -> None:
    assert largest_pendulum_cost(angles=200, speeds=160, steps=200) <= -bounds("Pendulum-v1")[0]
    assert 200 * math.pi**2 > 0.99 * -bounds("Pendulum-v1")[0]  # what hanging still costs: hardly less
    assert bounds("Pendulum-v1")[1] == 0  # every step costs


def test_the_taxi_earns_what_its_transition_table_allows() -> None:
    taxi: Any = gymnasium.make("Taxi-v4").unwrapped
    worst = min(reward for state in taxi.P.values() for moves in state.values() for _, _, reward, _ in moves)
    best = np.zeros(len(taxi.P))
    for _ in range(200):
        best = np.array([
            max(sum(p * (earned + (not over) * best[after]) for p, after, earned, over in moves) for moves in state.values())
            for state in taxi.P.values()
        ])  # fmt: skip

    assert bounds("Taxi-v4") == bounds("Taxi-v4-from-scratch") == (200 * worst, best[taxi.initial_state_distrib > 0].max())


def test_the_walker_earns_its_way_and_pays_for_torque_tilt_and_a_fall() -> None:
    """Its rewards telescope: 130/30 for a metre, −5 for a radian of tilt, less torque, and −100 for the step of a fall."""
    start = walker.TERRAIN_STEP * walker.TERRAIN_STARTPAD / 2
    end = (walker.TERRAIN_LENGTH - walker.TERRAIN_GRASS) * walker.TERRAIN_STEP
    torque = 1600 * 4 * 0.00035 * walker.MOTORS_TORQUE
    # Not proven: that the hull touches the ground before it has turned once. Falls that were searched for turned it by 4.8.
    tilt = 5 * 2 * math.pi
    # Box2D moves a body by two metres in a step at most; the hull's origin lies within 0.2 m of its centre.
    environment: Any = gymnasium.make("BipedalWalker-v3").unwrapped
    environment.reset(seed=0)
    assert environment.hull.localCenter.length < 0.2
    overshoot = 2 + 2 * 0.2
    metre = 130 / walker.SCALE
    low, high = bounds("BipedalWalker-v3")

    assert low <= -100 - metre * (start + 0.01) - torque - tilt < low + 1
    assert high - 2 < metre * (end + overshoot - start + 0.01) + 5 * 0.01 <= high


def alternating(*signs: int, period: int) -> Policy:
    return lambda observation, step: np.array(signs, np.float32) * (-1) ** (step // period)


def constant(action: Any) -> Policy:
    return lambda observation, step: action


def along(torque: float) -> Policy:
    """A torque in the direction in which the pendulum turns."""
    return lambda observation, step: np.array([math.copysign(1, observation[2]) * torque], np.float32)


def example(name: str) -> Policy:
    agent = source(name).Agent()
    return lambda observation, step: agent.act(observation)


def extremes(task_id: str) -> dict[str, Policy]:
    """Policies at the ends of the action space, random ones and the example agent."""
    space = gymnasium.make(task_id).action_space
    chance: dict[str, Policy] = {"random": lambda observation, step: space.sample()}
    if task_id == "Taxi-v4":
        return {**chance, **{str(action): constant(action) for action in range(6)}, "example": example("taxi-q-table")}
    if task_id == "Pendulum-v1":
        torques = {str(torque): constant(np.array([torque], np.float32)) for torque in (-2, 0, 2)}
        return {**chance, **torques, "pumping": along(2), "braking": along(-2), "example": example("pendulum-energy")}
    corners = {str(c): constant(np.array(c, np.float32)) for c in itertools.product((-1, 1), repeat=4)}
    swings = {f"swing {n}": alternating(1, 1, -1, -1, period=n) for n in (5, 10, 20, 28, 40)}
    return {**chance, **corners, **swings, "still": constant(np.zeros(4, np.float32)), "example": example("walker-gait")}


@pytest.mark.parametrize("task_id", ["Pendulum-v1", "Taxi-v4", "BipedalWalker-v3"])
def test_no_agent_leaves_the_bounds(task_id: str) -> None:
    low, high = bounds(task_id)
    episodes = 1 if task_id == "BipedalWalker-v3" else 5
    played = {name: returns(task_id, policy, episodes) for name, policy in extremes(task_id).items()}

    assert {name: totals for name, totals in played.items() if not low <= min(totals) <= max(totals) <= high} == {}


def test_the_lander_has_no_bounds_since_it_may_spin_without_end() -> None:
    """Up by the main engine while it is upright, spun by a side engine otherwise: a return of about −2,800."""
    assert TASKS["LunarLander-v3"].bounds is None
    environment: Any = gymnasium.make("LunarLander-v3").unwrapped
    environment.reset(seed=2)
    total, over = 0.0, False
    while not over:
        upright = math.cos(environment.lander.angle) > math.cos(0.6)
        _, reward, over, _, _ = environment.step(2 if upright else 1)
        total += float(reward)

    assert total < -2000


def test_bounds_measure_nothing() -> None:
    task = TASKS["Taxi-v4"]

    assert task.model_copy(update={"bounds": None}).digest() == task.digest()
    assert Task(id="a", episodes=2, few_episodes=True).measured() == Task(id="a", episodes=2).measured()
