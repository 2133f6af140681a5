"""A host's own metrics: functions over a result's episodes, called by the evaluation and again by verification.

They are the host's code, and as trusted as its environments. An exception in one of them is a failure of the evaluator,
never the agent's.
"""

import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from evaluator.host.envs.gym_task import GymTask, OwnFunction, import_entry_point, load_metric_functions
from evaluator.host.errors import EnvironmentFault
from evaluator.model.base import MOST_EXTREME
from evaluator.model.config.metric import JACKKNIFE_GROUPS

LengthAndActions = tuple[int, Sequence[npt.NDArray[Any]]]
"""An episode's length and recorded actions."""


class EpisodeStep(NamedTuple):
    """One step of an episode."""

    observation: Any
    action: Any
    """The action, as the environment got it."""
    reward: float
    after: Any
    terminated: bool
    truncated: bool
    info: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class RecordedEpisode:
    """One episode, as a host's function gets it."""

    seed: str
    total: float
    """Its return: the sum of its rewards."""
    length: int
    gym_task: GymTask = field(repr=False)
    recorded: Sequence[npt.NDArray[Any]] = field(repr=False)
    """The recorded actions: one array per leaf, shape (length, ...)."""

    @cached_property
    def actions(self) -> Sequence[Any]:
        """The actions, as the environment got them."""
        return self._taken()

    def _taken(self) -> Sequence[Any]:
        """New ones each time, of the types that the environment takes: those of a script are recorded in smaller ones."""
        decoder = self.gym_task.decoder()
        return decoder.actions([a.astype(leaf.dtype) for a, leaf in zip(self.recorded, decoder.leaves, strict=True)])

    def steps(self) -> Iterator[EpisodeStep]:
        """Every step. Only returns and actions are recorded, so the episode is replayed on a new environment."""
        environment = self.gym_task.make()
        seen = self.gym_task.start(environment, self.seed)
        for action in self._taken():
            after, reward, terminated, truncated, info = environment.step(action)
            yield EpisodeStep(seen, action, float(reward), after, bool(terminated), bool(truncated), info)
            seen = after
        environment.close()


def compute_custom_metrics(gym_task: GymTask, episodes: Sequence[RecordedEpisode]) -> dict[str, float]:
    """The values of the task's own metrics and their standard errors.

    Returns:
        The value of each function under `module:function`, unless it returned None; where it could be computed, its standard
        error under `module:function:error`. Without episodes there are none: a script that played none that counts must not
        let a function fail, since a failure is ours and is tried again.

    Raises:
        EnvironmentFault: a function fails, or returns no number that can be added to others.
    """
    return _all_values(gym_task, episodes) if episodes else {}


def _all_values(gym_task: GymTask, episodes: Sequence[RecordedEpisode]) -> dict[str, float]:
    values = {}
    for kind, function in load_metric_functions(gym_task.task).items():
        value = _call_metric(gym_task, kind, function, episodes)
        if value is not None:
            values[kind] = value
            error = _standard_error(gym_task, kind, function, episodes)
            values |= {f"{kind}:error": error} if error is not None else {}
    return values


def _call_metric(gym_task: GymTask, kind: str, function: OwnFunction, episodes: Sequence[RecordedEpisode]) -> float | None:
    with import_entry_point(f"the metric {kind} of task {gym_task.task.id} failed"):
        value = function(tuple(episodes))
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not abs(cast("float", value)) <= MOST_EXTREME:
        raise EnvironmentFault(
            f"the metric {kind} of task {gym_task.task.id} returned {value!r:.80}; it must return a finite number "
            f"of at most ±{MOST_EXTREME:g}, or None where there is none"
        )
    return float(value)


def _standard_error(
    gym_task: GymTask, kind: str, function: OwnFunction, episodes: Sequence[RecordedEpisode]
) -> float | None:
    """The standard error by the delete-a-tenth jackknife (Shao & Wu, The Annals of Statistics 17, 1989).

    None where there are too few episodes, or the function has no value for a part of them.
    """
    if len(episodes) < JACKKNIFE_GROUPS:
        return None
    subsets = [
        [e for index, e in enumerate(episodes) if index % JACKKNIFE_GROUPS != group] for group in range(JACKKNIFE_GROUPS)
    ]
    try:
        values = [_call_metric(gym_task, kind, function, subset) for subset in subsets]
    except EnvironmentFault:
        return None
    estimates = [value for value in values if value is not None]
    if len(estimates) < JACKKNIFE_GROUPS:
        return None
    mean = math.fsum(estimates) / JACKKNIFE_GROUPS
    return math.sqrt((JACKKNIFE_GROUPS - 1) / JACKKNIFE_GROUPS * math.fsum((value - mean) ** 2 for value in estimates))


def custom_metric_faults(
    gym_task: GymTask, recorded: Mapping[str, float], episodes: Sequence[RecordedEpisode]
) -> Iterator[str]:
    """Differences between a result's `metrics` and what the functions return now, except for rounding."""
    kinds = [key for kind in load_metric_functions(gym_task.task) for key in (kind, f"{kind}:error")]
    if not episodes and not recorded.keys() & set(kinds):
        return
    try:
        now = _all_values(gym_task, episodes)  # older records have values of no episodes
    except EnvironmentFault as error:
        yield " ".join(str(error).split())[:300]
        return
    for key in kinds:
        before, value = recorded.get(key), now.get(key)
        if (before is None) != (value is None) or not math.isclose(before or 0.0, value or 0.0, rel_tol=1e-9, abs_tol=1e-12):
            yield f"the metric {key} is {value!r}, not {before!r}"


def to_episodes(
    gym_task: GymTask, seeds: Sequence[str], totals: Sequence[float], played: Iterable[LengthAndActions]
) -> list[RecordedEpisode]:
    """The episodes that count, without those that a script never played."""
    return [
        RecordedEpisode(seed=seed, total=total, length=length, gym_task=gym_task, recorded=actions)
        for seed, total, (length, actions) in zip(seeds, totals, played, strict=False)
    ]


def split_by_length(lengths: Sequence[int], actions: Sequence[npt.NDArray[Any]]) -> list[LengthAndActions]:
    """Length and actions of each episode, from arrays (one per leaf) with the actions of all episodes."""
    ends = np.cumsum(lengths).tolist()
    return [(length, [leaf[end - length : end] for leaf in actions]) for length, end in zip(lengths, ends, strict=True)]
