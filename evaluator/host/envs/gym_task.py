"""Makes the environments that the referee steps."""

import contextlib
import copy
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from evaluator.host.envs.spaces import ActionDecoder, ObservationEncoder
from evaluator.host.errors import EnvironmentFault as EnvironmentFault
from evaluator.host.seeds.derive import environment_seed
from evaluator.model.config.challenge import Task

# A host's own metric: episodes (see `evaluator.host.own`) to a number.
OwnFunction = Callable[[Sequence[Any]], Any]
Step = Callable[[Any], tuple[Any, Any, bool, bool, dict[str, Any]]]


@dataclass(frozen=True, kw_only=True)
class GymTask:
    """A task's environment, ready to be made as often as needed."""

    task: Task
    """The settings."""
    spec: EnvSpec
    """Gymnasium's description, without the wrappers whose work the referee does."""
    observation_space: spaces.Space[Any]
    """What agents see."""
    action_space: spaces.Space[Any]
    """What agents answer."""
    time_limit: int | None
    """Steps after which an episode is truncated."""

    def encoder(self) -> ObservationEncoder:
        """A new encoder of its observations."""
        return ObservationEncoder(self.observation_space)

    def decoder(self) -> ActionDecoder:
        """A new checker of its actions."""
        return ActionDecoder(self.action_space, clip=self.task.clip, grid=self.task.grid)

    def make(self) -> gymnasium.Env[Any, Any]:
        """A fresh environment, which need not check actions again.

        Many environments begin a step with `assert action_space.contains(action)`: a fifth of CartPole's step. The
        referee has checked the action with this very space, all lanes at once.
        """
        environment = gymnasium.make(self.spec)
        environment.unwrapped.action_space.contains = _checked_before  # type: ignore[method-assign, assignment]
        return environment

    def start(self, environment: gymnasium.Env[Any, Any], seed: str) -> Any:
        """Begin an episode; returns its first observation."""
        observation, _ = environment.reset(seed=environment_seed(seed, self.task.seed_bits))
        return observation


def _checked_before(action: Any) -> bool:
    return True


def load_gym_task(task: Task) -> GymTask:
    """The world of a task.

    Gymnasium's time limit, order check and interface check are wrappers around every step. The referee keeps the first
    itself, cannot break the second, and the third is a test's work: leaving them out makes a step cheaper, not different.

    Raises:
        WorldError: there is no such environment, it lacks a package, or its spaces cannot be sent; or a function that is a
            metric is not there.
    """
    load_metric_functions(task)
    spec = _spec(task)
    time_limit = task.max_episode_steps or spec.max_episode_steps
    _check_budget(task, time_limit)
    bare = copy.deepcopy(spec)
    bare.max_episode_steps, bare.order_enforce, bare.disable_env_checker = None, False, True
    with import_entry_point(f"the environment {task.env_id} of task {task.id} cannot be made"):
        sample = gymnasium.make(bare)
        world = GymTask(
            task=task,
            spec=bare,
            observation_space=sample.observation_space,
            action_space=sample.action_space,
            time_limit=time_limit,
        )
        world.encoder(), world.decoder()
        sample.close()
    return world


class BudgetError(EnvironmentFault):
    """A task for scripts leaves no steps to train with."""


def check_budget(task: Task) -> None:
    """Whether a task for scripts has a time limit and leaves steps to train with; its environment is not made.

    Raises:
        BudgetError: it has not, or does not.
        WorldError: there is no such environment here.
    """
    if task.script is not None:
        _check_budget(task, task.max_episode_steps or _spec(task).max_episode_steps)


def _check_budget(task: Task, time_limit: int | None) -> None:
    if task.script is None:
        return
    if time_limit is None:
        raise BudgetError(
            f"task {task.id} has script rules, and its environment has no time limit: set max_episode_steps, "
            "so that the episodes that count can be played within the budget"
        )
    try:
        task.script.training_steps(time_limit)
    except ValueError as error:
        raise BudgetError(f"task {task.id}: {error}") from error


def load_metric_functions(task: Task) -> dict[str, OwnFunction]:
    """The host's own functions among the task's metrics, by their `module:function`.

    Raises:
        WorldError: there is no such function.
    """
    found: dict[str, OwnFunction] = {}
    for kind in sorted({metric.kind for metric in task.metrics if metric.is_own}):
        module, _, name = kind.partition(":")
        with import_entry_point(f"task {task.id} names the metric {kind}, which is not here"):
            function = getattr(importlib.import_module(module), name)
        if not callable(function):
            raise EnvironmentFault(f"task {task.id} names the metric {kind}, which is not a function")
        found[kind] = function
    return found


@contextlib.contextmanager
def import_entry_point(failure: str) -> Iterator[None]:
    """Code of an environment's author, whatever it raises.

    Raises:
        WorldError: it failed; the message begins with `failure`.
    """
    try:
        yield
    except Exception as error:
        raise EnvironmentFault(f"{failure}: {error}") from error


def _spec(task: Task) -> EnvSpec:
    module, colon, _ = task.env_id.partition(":")
    try:
        if colon:
            importlib.import_module(module)
        spec = copy.deepcopy(gymnasium.spec(task.env_id.partition(":")[2] if colon else task.env_id))
    except (ImportError, gymnasium.error.Error) as error:
        reason = str(error).splitlines()[0]
        raise EnvironmentFault(f"task {task.id} names the environment {task.env_id}, which is not here: {reason}") from error
    spec.kwargs.update(task.kwargs)
    return spec
