"""Spaces that a host's environment may have: each is recorded and verified, or refused before anybody plays."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from evaluator import wire
from evaluator.host.envs.check_task import task_faults
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.envs.spaces import at, describe
from evaluator.host.solo.verify_result import verify_result
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.task import Task
from evaluator.model.records.parse import parse_trace
from evaluator.model.records.result import Result
from evaluator.model.records.trace import TraceLeaf
from evaluator.model.records.verdict import Verdict
from tests.evaluations import evaluated

ANYTHING = spaces.Box(-np.inf, np.inf, (1,), np.float64)


class Given(gymnasium.Env[Any, Any]):
    """Has the spaces that it is given; its observations are samples, and it pays the bytes of an array."""

    def __init__(self, seen: spaces.Space[Any], done: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = seen, done

    def _observation(self) -> Any:
        self.observation_space.seed(int(self.np_random.integers(1 << 30)))
        return self.observation_space.sample()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        paid = float(sum(action.tobytes())) if isinstance(action, np.ndarray) else 0.0
        return self._observation(), paid, False, False, {}


def task_of(name: str, seen: spaces.Space[Any] = ANYTHING, done: spaces.Space[Any] = ANYTHING) -> Task:
    gymnasium.register(f"Given-{name}-v0", Given, kwargs={"seen": seen, "done": done}, disable_env_checker=True)
    return Task.model_validate({"id": name, "env": f"Given-{name}-v0", "episodes": 10, "max_episode_steps": 3})


SWITCHES = spaces.Box(0, 1, (3,), np.bool_)
ACTS = """
import numpy as np

class Agent:
    memoryless = True

    def act(self, observation):
        return {action}
"""


def test_actions_of_booleans_are_recorded_and_verified() -> None:
    task = task_of("switches", done=SWITCHES)

    done = evaluated(ACTS.format(action="np.array([True, False, True])"), task)

    assert (done.result.verdict, done.result.returns) == (Verdict.OK, (6.0,) * 10)
    checked = verify_result("x", done.result.serialised(), done.trace, load_gym_task(task))
    assert (checked.status, checked.faults) == (VerificationStatus.VERIFIED, ())
    assert TraceLeaf.of(np.zeros((0, 3), bool)).array(0).shape == (0, 3)  # of a script that never took a step


@pytest.mark.attack(
    "booleans_of_another_value", family="protocol", outcome="protocol_error",
    tries="Plays booleans whose bytes are neither 0 nor 1, which a host's environment may read as other numbers.",
)  # fmt: skip
def test_a_boolean_is_0_or_1() -> None:
    task = task_of("other-switches", done=SWITCHES)

    done = evaluated(ACTS.format(action="np.frombuffer(bytes([1, 255, 0]), bool)"), task).result

    assert (done.verdict, done.message) == (Verdict.PROTOCOL_ERROR, "episode 0, step 0: the action 255 is outside 0…1")


WHOLE = spaces.Box(0, 2**60, (1,), np.int64)


@pytest.mark.parametrize(
    ("name", "changes"),
    {
        "seen-beyond-exact-integers": {"seen": WHOLE},
        "done-beyond-exact-integers": {"done": WHOLE},
        "keys-that-are-numbers": {"done": spaces.Dict({1: spaces.Discrete(2)})},  # type: ignore[dict-item]
        "nothing-to-choose": {"done": spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 1, (0,))))},
        "nine-dimensions": {"done": spaces.Box(0, 1, (1,) * 9)},
    }.items(),
)
def test_what_no_record_holds_is_a_fault_of_the_task(name: str, changes: dict[str, spaces.Space[Any]]) -> None:
    """It was found when an evaluation failed, or when publish could not read its trace: a failure of ours, three times."""
    faults = list(task_faults(task_of(name, **changes)))

    assert [(fault.key, "cannot be recorded" in fault.text) for fault in faults] == [("env", True)], faults


@pytest.mark.attack(
    "trace_of_numbers_that_wrap_round", family="cheating", outcome="refuted",
    tries="Packs other numbers into a trace that become its actions in the type of their space: 257, 2 for true, 1 for 1.0.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("name", "space", "action", "stored"),
    [
        ("lamps", spaces.MultiBinary(2), "np.ones(2, np.int8)", 257),
        ("flags", spaces.Box(0, 1, (2,), np.bool_), "np.ones(2, bool)", 2),
        ("forces", spaces.Box(-2, 2, (2,), np.float32), "np.ones(2, np.float32)", 1),
    ],
)
def test_a_trace_holds_the_numbers_of_its_actions(name: str, space: Any, action: str, stored: int) -> None:
    task = task_of(name, done=space)
    done = evaluated(ACTS.format(action=action), task)
    assert done.trace
    document, trace = done.result.document(), parse_trace(done.trace)

    packed = TraceLeaf.of(np.full((trace.steps(), 2), stored))
    forged = trace.model_copy(update={"actions": (packed,)})
    changed = Result.with_self_hash({**document, "trace_sha256": forged.sha256()})
    checked = verify_result("x", changed.serialised(), forged.serialised(), load_gym_task(task))

    assert checked.status is VerificationStatus.REFUTED


@pytest.mark.parametrize("env", ["tests.evaluator.worlds:ManyJoints-v0", "tests.evaluator.worlds:Everything-v0"])
def test_no_trace_takes_more_bytes_a_step_than_its_task_says(env: str) -> None:
    gym_task = load_gym_task(Task(id="T", env=env, episodes=2, max_episode_steps=500))
    assert gym_task.max_steps == 1000
    gym_task.action_space.seed(1)
    actions = [gym_task.action_space.sample() for _ in range(gym_task.max_steps)]
    leaves = wire.leaves(describe(gym_task.action_space))
    packed = [TraceLeaf.of(np.array([at(leaf.path)(action) for action in actions])) for leaf in leaves]

    assert sum(len(leaf.data) for leaf in packed) < gym_task.step_bytes * gym_task.max_steps * 1.001
