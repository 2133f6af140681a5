"""What is wrong with a task: its environment or game, own metrics, reference scores and bounds; it is played a little."""

import contextlib
import copy
import io
import math
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.utils.env_checker import check_env

from evaluator.host.envs.custom_metrics import compute_custom_metrics, to_episodes
from evaluator.host.envs.gym_task import BudgetError, GymTask, import_entry_point, load_gym_task, load_metric_functions
from evaluator.host.envs.pettingzoo_game import PettingZooGame, open_game
from evaluator.host.envs.spaces import ObservationEncoder, UnsupportedSpaceError, at, simple_spaces
from evaluator.host.errors import EnvironmentFault
from evaluator.host.seeds.derived_seeds import environment_seed
from evaluator.model.config.task import Task

MAX_STEPS = 500
# How many episodes of a used environment are compared with those of new ones, where they are not slow.
REUSED_EPISODES = 12
REUSE_SECONDS = 10.0
API_CYCLES = 30
_SEEDS = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210")
_RETURN_KINDS = ("mean_return", "iqm_return", "median_return")
_CHANCE = "draw all chance from the generator that reset(seed=…) sets, such as self.np_random after super().reset(seed=seed)"


class TaskFault(NamedTuple):
    """A fault of a task in challenge.yml."""

    key: str
    text: str
    number: int | None = None
    """Which one of the values of that key, if it has several."""
    is_note: bool = False
    """Whether the host may mean it."""


class _Played(NamedTuple):
    seen: list[list[bytes]]
    """Observations, encoded."""
    rewards: list[float]
    actions: list[np.ndarray[Any, Any]]
    """One array per leaf."""
    is_whole: bool


def task_faults(task: Task) -> Iterator[TaskFault]:
    """Everything wrong with a task, and nothing if its extra packages are not installed here.

    Raises:
        ModuleNotFoundError: an optional package that the task names in `extra` is missing.
    """
    if fault := task.few_episodes_fault():
        yield TaskFault("script" if task.script else "episodes", fault.partition(": ")[2])
    yield from _reference_score_faults(task)
    try:
        if missing := _metric_fault(task):
            yield missing
            return
        yield from _game_faults(open_game(task)) if task.game else _solo_faults(load_gym_task(task))
    except (EnvironmentFault, UnsupportedSpaceError) as error:
        if task.extra and isinstance(_root_of(error), ImportError):
            raise ModuleNotFoundError(task.extra) from error
        key = "script" if isinstance(error, BudgetError) else "game" if task.game else "env"
        yield TaskFault(key, _one_line(error))


def _metric_fault(task: Task) -> TaskFault | None:
    """The first of the task's own metrics that is not here or cannot be imported."""
    for index, metric in enumerate(task.metrics):
        try:
            load_metric_functions(task.model_copy(update={"metrics": (metric,)}))
        except EnvironmentFault as error:
            if task.extra and isinstance(_root_of(error), ImportError):
                raise
            return TaskFault("metrics", _one_line(error), index)
    return None


def _root_of(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _one_line(error: object) -> str:
    return " ".join(str(error).split())[:300]


def _reference_score_faults(task: Task) -> Iterator[TaskFault]:
    """Reference scores out of the possible range, or the wrong way round."""
    if task.random and task.reference and not task.metrics and task.reference.score < task.random.score:
        yield TaskFault("reference", f"{task.reference.score:g} is worse than random, {task.random.score:g}; exchange them")
    kind = task.metrics[0].kind if task.metrics else "mean_return"
    bounds = (0.0, 1.0) if kind == "success_rate" else task.bounds if kind in _RETURN_KINDS else None
    for key, reference_score in (("random", task.random), ("reference", task.reference)):
        if reference_score and bounds and not bounds[0] <= reference_score.score <= bounds[1]:
            possible = f"{bounds[0]:g}…{bounds[1]:g}"
            yield TaskFault(key, f"{reference_score.score:g} is outside {possible}; correct the score or 'bounds'")


def _solo_faults(gym_task: GymTask) -> Iterator[TaskFault]:
    task = gym_task.task
    failure = f"{task.env_id} fails when it is played"
    with import_entry_point(failure), _quiet():
        first, again, other = (_play(gym_task, gym_task.make(), seed) for seed in (_SEEDS[0], *_SEEDS))
        reused = gym_task.make()
        repeated = [_play(gym_task, reused, seed) for seed in (_SEEDS[1], _SEEDS[0])][1]
        changed_later = _first_change(gym_task, reused) if task.reusable else None
    if fault := next((fault for played in (first, other) if (fault := _endless_reward(task, played))), None):
        yield fault  # A reward that is no number equals nothing, not even itself.
        return
    if (step := _first_difference(first, again)) is not None:
        yield TaskFault("env", f"{task.env_id} ignores its seed: one seed, twice, differs at step {step}; {_CHANCE}")
        return
    step = _first_difference(first, repeated)
    if step is not None and _first_difference(first, other) is None:
        yield TaskFault("env", f"{task.env_id} ignores its seed: all seeds give the same episode; {_CHANCE}")
        return
    changed = changed_later if step is None else step
    if changed is not None and task.reusable:
        yield TaskFault("reusable", f"an episode of {task.env_id} changes the next one at step {changed}; remove 'reusable'")
    yield from _return_faults(task, (first, other))
    if gym_task.time_limit is None and not (first.is_whole and other.is_whole):
        text = f"an episode of random actions goes on after {MAX_STEPS} steps, and nothing ends it; set 'max_episode_steps'"
        yield TaskFault("env", text, is_note=True)
    try:
        with import_entry_point(f"{task.env_id} breaks Gymnasium's interface"), _quiet():
            check_env(gym_task.make().unwrapped, skip_render_check=True)
    except EnvironmentFault as error:
        yield TaskFault("env", f"{_one_line(error)}; correct the environment")
    pair = (first, other)
    totals, actions = [sum(played.rewards) for played in pair], [(len(played.rewards), played.actions) for played in pair]
    episodes = to_episodes(gym_task, _SEEDS, totals, actions)
    try:
        with _quiet():
            compute_custom_metrics(gym_task, episodes)
    except EnvironmentFault as error:
        yield TaskFault("metrics", _one_line(error))


def _first_change(gym_task: GymTask, reused: Any) -> int | None:
    """The first step at which an episode of a used environment differs from that of a new one; None if none does.

    One is not enough: BipedalWalker's first episodes of random actions often leave the next one as it is.
    """
    until = time.monotonic() + REUSE_SECONDS
    for number in range(REUSED_EPISODES):
        seed = f"{number:032x}"
        pair = _play(gym_task, gym_task.make(), seed), _play(gym_task, reused, seed)
        if (step := _first_difference(*pair)) is not None:
            return step
        if time.monotonic() > until:
            break
    return None


def _play(gym_task: GymTask, environment: Any, seed: str) -> _Played:
    """Play random actions until the episode ends, at most MAX_STEPS."""
    encoder, decoder = gym_task.encoder(), gym_task.decoder()
    space = copy.deepcopy(gym_task.action_space)
    space.seed(1)
    seen = [_encoded(encoder, gym_task, _reset(gym_task, environment, seed), "at the start")]
    rewards: list[float] = []
    taken: list[list[Any]] = []
    limit = min(MAX_STEPS, gym_task.time_limit or MAX_STEPS)
    is_over = False
    while not is_over and len(rewards) < limit:
        sample = space.sample()
        leaves = [np.asarray([at(leaf.path)(sample)], leaf.dtype) for leaf in decoder.leaves]
        settled = decoder.settle(leaves)
        answer = environment.step(decoder.actions(settled)[0])
        if not isinstance(answer, tuple) or len(answer) != len(_STEP_VALUES):
            raise ValueError(f"step returned {_described(answer)}; it must return {', '.join(_STEP_VALUES)}")
        observation, reward, terminated, truncated, _ = answer
        when = f"after step {len(rewards) + 1}"
        seen.append(_encoded(encoder, gym_task, observation, when))
        if isinstance(reward, str | bytes) or np.ndim(reward) or reward is None:
            raise ValueError(f"the reward {when} is {_described(reward)}; make it one number")
        rewards.append(float(reward))
        taken.append(settled)
        is_over = bool(terminated or truncated)
    actions = [np.concatenate(column) for column in zip(*taken, strict=True)]
    return _Played(seen, rewards, actions, is_over or limit == gym_task.time_limit)


_STEP_VALUES = ("observation", "reward", "terminated", "truncated", "info")


def _described(value: Any) -> str:
    return f"{len(value)} values" if isinstance(value, tuple) else "None" if value is None else f"one {type(value).__name__}"


def _reset(gym_task: GymTask, environment: Any, seed: str) -> Any:
    answer = environment.reset(seed=environment_seed(seed, gym_task.task.seed_bits))
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ValueError(f"reset returned {_described(answer)}; it must return observation, info")
    return answer[0]


def _encoded(encoder: ObservationEncoder, gym_task: GymTask, observation: Any, when: str) -> list[bytes]:
    """The observation as an agent gets it.

    Raises:
        ValueError: it does not fit its space, or has a whole number outside the bounds that agents may rely on. Bounds of
            floats are left out: some of Gymnasium's own environments exceed theirs.
    """
    try:
        encoded = encoder.encode([observation])
        numbers = [np.asarray(at(leaf.path)(observation)).reshape(leaf.shape) for leaf in encoder.leaves]
    except (KeyError, IndexError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"the observation {when} does not fit observation_space: {_one_line(error)}; correct one"
        ) from error
    for number, space in zip(numbers, simple_spaces(gym_task.observation_space), strict=True):
        if number.dtype.kind == "f" and np.isnan(number).any():
            raise ValueError(f"the observation {when} has a nan; give a number")
        cast = number.astype(space.dtype)
        if cast.dtype.kind in "iu" and not (np.array_equal(cast, number) and space.contains(cast)):
            raise ValueError(f"the observation {when} has a number outside observation_space; correct one")
    return encoded


def _first_difference(one: _Played, other: _Played) -> int | None:
    """The first step at which two episodes differ; None if they are equal."""
    pairs = zip(
        zip(one.seen, [0.0, *one.rewards], strict=True), zip(other.seen, [0.0, *other.rewards], strict=True), strict=False
    )
    step = next((index for index, (a, b) in enumerate(pairs) if a != b), None)
    return min(len(one.seen), len(other.seen)) if step is None and len(one.seen) != len(other.seen) else step


def _endless_reward(task: Task, played: _Played) -> TaskFault | None:
    """The first reward that is infinite or no number."""
    step = next((index for index, reward in enumerate(played.rewards, 1) if not math.isfinite(reward)), None)
    if step is None:
        return None
    return TaskFault("env", f"{task.env_id} gives the reward {played.rewards[step - 1]} at step {step}; make it finite")


def _return_faults(task: Task, episodes: Sequence[_Played]) -> Iterator[TaskFault]:
    for played in episodes:
        total = sum(played.rewards)
        if task.bounds and played.is_whole and not task.bounds[0] - 1e-6 <= total <= task.bounds[1] + 1e-6:
            possible = f"{task.bounds[0]:g}…{task.bounds[1]:g}"
            yield TaskFault("bounds", f"a random episode has the return {total:g}, outside {possible}; correct 'bounds'")
            return
    yield from _worst_fault(task, [sum(played.rewards) for played in episodes if played.is_whole])


def _worst_fault(task: Task, totals: Sequence[float]) -> Iterator[TaskFault]:
    """That a return is possible which is worse than a script's `worst`: leaving such an episode would pay.

    `totals`: returns of random episodes, which are asked where the task has no bounds.
    """
    kind, sign = (task.metrics[0].kind, task.metrics[0].sign) if task.metrics else ("mean_return", 1)
    if task.script is None or kind not in _RETURN_KINDS:
        return
    possible = min((sign * value for value in task.bounds or totals), default=math.inf)
    if sign * task.script.worst > possible:
        reason = "by 'bounds' an episode can have" if task.bounds else "a random episode has"
        worse = f"'worst' is {task.script.worst:g}, and {reason} {sign * possible:g}"
        yield TaskFault("script", f"{worse}; make it as bad, else leaving bad episodes pays")


def _game_faults(game: PettingZooGame) -> Iterator[TaskFault]:
    task = game.task
    with import_entry_point(f"{task.game} fails when it is played"), _quiet():
        first, again = _moves(game, _SEEDS[0]), _moves(game, _SEEDS[0])
        others = [_moves(game, digit * 32) for digit in "13579bdf"]  # a small game may be dealt the same by a few
    if first != again:
        ply = next((index for index, (a, b) in enumerate(zip(first, again, strict=False)) if a != b), len(first))
        yield TaskFault("game", f"{task.game} ignores its seed: one seed, twice, differs at ply {ply}; {_CHANCE}")
        return
    if any(first != other for other in others):
        yield TaskFault("game", f"{task.game} deals from its seed, which two matches share: a player sees both sides' hands")
        return
    try:
        with import_entry_point(f"{task.game} breaks PettingZoo's interface"), _quiet():
            # Imported late: it imports all of PettingZoo's tests.
            from pettingzoo.test import api_test

            api_test(game.make(), num_cycles=API_CYCLES)
    except EnvironmentFault as error:
        yield TaskFault("game", f"{_one_line(error)}; correct the game")


def _moves(game: PettingZooGame, seed: str) -> list[tuple[list[bytes], tuple[float, float]]]:
    generator, encoder = np.random.default_rng(1), game.encoder()
    position = game.start(seed)
    plies: list[tuple[list[bytes], tuple[float, float]]] = []
    while not position.over and len(plies) < min(MAX_STEPS, game.task.max_plies):
        observation = position.observe()
        legal = game.legal(observation)
        if not legal:
            raise ValueError(f"no move is legal at ply {len(plies)}")
        plies.append((encoder.encode([observation]), position.play(legal[int(generator.integers(len(legal)))])))
    position.close()
    return plies


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what the checks and a host's code print and warn of."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
