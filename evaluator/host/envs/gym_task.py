"""Gymnasium environments of tasks, and what these tasks and games have in common."""

import contextlib
import copy
import importlib
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import gymnasium
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

import evaluator
from evaluator import wire
from evaluator.host.envs.spaces import ActionDecoder, ObservationEncoder, describe
from evaluator.host.errors import EnvironmentFault
from evaluator.host.seeds.derived_seeds import environment_seed
from evaluator.model.canonical_json import canonical
from evaluator.model.config.task import Task
from evaluator.model.records.trace import is_recordable


@dataclass(frozen=True, kw_only=True)
class PlayableTask:
    """A task, and the spaces of its environment or game."""

    task: Task
    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]

    def __post_init__(self) -> None:
        """Refuse spaces that no HELLO or no trace holds: every evaluation would be a failure of ours."""
        try:
            canonical(self.hello_fields())
        except ValueError as error:
            raise EnvironmentFault(f"spaces of task {self.task.id} cannot be recorded: {error}") from error
        if not all(is_recordable(leaf.shape) for leaf in wire.leaves(describe(self.action_space))):
            raise EnvironmentFault(f"actions of task {self.task.id} cannot be recorded: one is empty or has too many axes")

    def encoder(self) -> ObservationEncoder:
        """A new encoder of observations."""
        return ObservationEncoder(self.observation_space)

    def hello_fields(self) -> dict[str, Any]:
        """What HELLO (`evaluator/host/sandboxes/handshake.py`) says of it, which the agent's constructor may ask for."""
        return {
            "task_id": self.task.id,
            "observation_space": describe(self.observation_space),
            "action_space": describe(self.action_space),
        }


# A host's own metric: from the episodes (see `custom_metrics`) to a number.
OwnFunction = Callable[[Sequence[Any]], Any]
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")
# What a failed import names, and the target of the Makefile that installs it.
_INSTALLED_BY = {"mujoco": "mujoco", "ale_py": "atari", "namespace ale ": "atari", "minigrid": "minigrid"}
_Loaded = TypeVar("_Loaded")
Step = Callable[[Any], tuple[Any, Any, bool, bool, dict[str, Any]]]


@dataclass(frozen=True, kw_only=True)
class GymTask(PlayableTask):
    """A task with its environment's description, which makes as many environments as needed."""

    spec: EnvSpec
    """Gymnasium's description, without the wrappers that the referee replaces."""
    time_limit: int | None
    """Steps after which an episode is truncated."""

    @property
    def max_steps(self) -> int | None:
        """Steps of an evaluation at most; None if its episodes have no time limit."""
        if self.task.script:
            return self.task.script.steps
        return self.time_limit and self.time_limit * self.task.episodes

    @property
    def step_bytes(self) -> float:
        """Bytes that a step takes in a trace at most: its action's numbers, which may not compress, in base64."""
        leaves = wire.leaves(describe(self.action_space))
        return 4 / 3 * sum(leaf.nbytes for leaf in leaves)

    def decoder(self) -> ActionDecoder:
        """A new decoder of actions."""
        return ActionDecoder(self.action_space, clip=self.task.clip, grid=self.task.grid)

    def make(self) -> gymnasium.Env[Any, Any]:
        """A new environment that does not check actions again.

        Many environments begin a step with `assert action_space.contains(action)`: a fifth of the time of CartPole's step.
        The referee has already checked the action with the same space, all lanes at once.
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
    """The environment of a task.

    Left out are Gymnasium's wrappers for the time limit, which the referee applies itself, for the order of calls, which it
    keeps, and for the interface, which is for tests. A step becomes cheaper, not different.

    Raises:
        EnvironmentFault: the environment, a package or a metric function is missing, or its spaces cannot be sent.
    """
    load_metric_functions(task)
    spec = _spec(task)
    time_limit = task.max_episode_steps or spec.max_episode_steps
    _check_budget(task, time_limit)
    bare = copy.deepcopy(spec)
    bare.max_episode_steps, bare.order_enforce, bare.disable_env_checker = None, False, True
    with import_entry_point(f"the environment {task.env_id} of task {task.id} cannot be made"):
        sample = gymnasium.make(bare)
        gym_task = GymTask(
            task=task,
            spec=bare,
            observation_space=sample.observation_space,
            action_space=sample.action_space,
            time_limit=time_limit,
        )
        gym_task.encoder(), gym_task.decoder()
        sample.close()
    return gym_task


def cached(load: Callable[[Task], _Loaded]) -> Callable[[Task], _Loaded | None]:
    """A loader of tasks that loads each once in a process; it returns None where a task cannot be loaded here."""

    @cache
    def loaded(task: str, code: str | None) -> _Loaded | None:
        """`task`: as JSON, which does not have its code."""
        try:
            return load(Task.model_validate_json(task).with_code(code))
        except EnvironmentFault:
            return None

    return lambda task: loaded(task.model_dump_json(), task.code)


cached_gym_task = cached(load_gym_task)


class BudgetError(EnvironmentFault):
    """A task for training scripts leaves no steps for training."""


def _check_budget(task: Task, time_limit: int | None) -> None:
    """Check that a task for scripts has a time limit and leaves steps for training."""
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
        EnvironmentFault: there is no such function.
    """
    functions: dict[str, OwnFunction] = {}
    for kind in sorted({metric.kind for metric in task.metrics if metric.is_own}):
        module, _, name = kind.partition(":")
        with import_entry_point(f"task {task.id} names the metric {kind}, which is not here", but=EnvironmentFault):
            function = getattr(_import_own(module, task), name)
        if not callable(function):
            raise EnvironmentFault(f"task {task.id} names the metric {kind}, which is not a function")
        functions[kind] = function
    return functions


def _import_own(module: str, task: Task) -> ModuleType:
    """A module that a task names.

    Raises:
        ModuleNotFoundError: it is not here.
        EnvironmentFault: it is, and fails when it is imported.
    """
    try:
        with import_entry_point(f"the module {module} of task {task.id} cannot be imported", but=ImportError):
            return importlib.import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
            raise
        reason = f"{_with_install_hint(str(error))}{_line_in(module, error)}"
        raise EnvironmentFault(f"the module {module} of task {task.id} cannot be imported: {reason}") from error


def _line_in(module: str, error: Exception) -> str:
    """Where in the host's files an import failed, such as ` (metrics.py, line 3)`; empty if in none beside the module."""
    package = module.partition(".")[0]
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [Path(frame.f_code.co_filename) for frame, _ in frames if frame.f_globals.get("__name__") == package]
    if not own:
        return ""
    folder = own[0].parent.parent if own[0].name == "__init__.py" else own[0].parent
    inside = [(Path(frame.f_code.co_filename), line) for frame, line in frames]
    inside = [(path, line) for path, line in inside if path.is_relative_to(folder) and "site-packages" not in path.parts]
    return f" ({inside[-1][0].relative_to(folder)}, line {inside[-1][1]})"


@contextlib.contextmanager
def import_entry_point(failure: str, but: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Run code of an environment's author, and translate whatever it raises, except `but`.

    Raises:
        EnvironmentFault: it failed; the message begins with `failure`.
    """
    try:
        yield
    except but:
        raise
    except SystemExit as error:
        raise EnvironmentFault(f"{failure}: it ends the program; remove the call of exit") from error
    except Exception as error:
        reason = _with_install_hint(str(error) or type(error).__name__)
        raise EnvironmentFault(f"{failure}: {reason}{_host_line(error)}") from error


def _host_line(error: Exception) -> str:
    """The last line of the host's own code in a traceback, such as ` (maze.py, line 3)`; empty if there is none."""
    ours, environments = Path(evaluator.__file__).parent, Path(evaluator.__file__).parent / "environments"
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        path = Path(frame.f_code.co_filename)
        is_package = {"site-packages", "dist-packages"} & set(path.parts) or path.is_relative_to(_STANDARD_LIBRARY)
        if path.is_file() and not is_package and (not path.is_relative_to(ours) or path.is_relative_to(environments)):
            return f" ({path.name}, line {line})"
    return ""


def _with_install_hint(reason: str) -> str:
    """A reason in one line, with the command that installs what it says is missing."""
    line = next(iter(reason.splitlines()), "")
    target = next((target for word, target in _INSTALLED_BY.items() if word in line.casefold()), None)
    return f"{line.partition(', run `pip')[0]}; 'make {target}' installs it" if target else line


def _spec(task: Task) -> EnvSpec:
    module, colon, _ = task.env_id.partition(":")
    try:
        if colon:
            _import_own(module, task)
        spec = copy.deepcopy(gymnasium.spec(task.env_id.partition(":")[2] if colon else task.env_id))
    except (ImportError, gymnasium.error.Error) as error:
        reason = _with_install_hint(str(error))
        raise EnvironmentFault(f"task {task.id} names the environment {task.env_id}, which is not here: {reason}") from error
    spec.kwargs.update(task.kwargs)
    return spec
