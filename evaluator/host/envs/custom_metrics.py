"""A host's own metrics: functions over a result's episodes, asked on the referee's side and again by everybody who verifies.

They are the host's code and as trusted as its environments. What one of them raises is told in one line; it is a failure
of ours, never the agent's.
"""

import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from evaluator.host.envs.gym_task import EnvironmentFault, GymTask, OwnFunction, import_entry_point, load_metric_functions
from evaluator.model.config.metric import GROUPS

Played = tuple[int, Sequence[npt.NDArray[Any]]]
"""An episode's length, and its actions as they are recorded."""


class EpisodeStep(NamedTuple):
    """One step of an episode, as the environment gave it."""

    observation: Any
    """What the agent saw."""
    action: Any
    """What it answered, as the environment got it."""
    reward: float
    """What it earned."""
    after: Any
    """What it saw next."""
    terminated: bool
    """Whether the episode came to its own end."""
    truncated: bool
    """Whether it was cut off."""
    info: dict[str, Any]
    """What the environment said beside."""


@dataclass(frozen=True, kw_only=True)
class RecordedEpisode:
    """One episode, as a host's function gets it."""

    seed: str
    """Its seed, 32 hex digits."""
    total: float
    """Its return: the sum of its rewards."""
    length: int
    """Its steps."""
    world: GymTask = field(repr=False)
    """The task's environment."""
    recorded: Sequence[npt.NDArray[Any]] = field(repr=False)
    """The actions as they are recorded, one array per leaf, shape (length, ...)."""

    @cached_property
    def actions(self) -> Sequence[Any]:
        """The actions, as the environment got them."""
        return self.world.decoder().actions(list(self.recorded))

    def steps(self) -> Iterator[EpisodeStep]:
        """Every step, by playing the episode again on a fresh environment: nothing but returns and actions is kept."""
        environment = self.world.make()
        seen = self.world.start(environment, self.seed)
        for action in self.actions:
            after, reward, terminated, truncated, info = environment.step(action)
            yield EpisodeStep(seen, action, float(reward), after, bool(terminated), bool(truncated), info)
            seen = after
        environment.close()


def compute_custom_metrics(world: GymTask, episodes: Sequence[RecordedEpisode]) -> dict[str, float]:
    """What the task's own functions say of the episodes, and the standard error of that.

    Returns:
        A value under each function's `module:function`, unless it says that there is none; and where it could be had, the
        standard error under `module:function:error`.

    Raises:
        WorldError: a function fails, or returns no finite number.
    """
    found = {}
    for kind, function in load_metric_functions(world.task).items():
        value = _asked(world, kind, function, episodes)
        if value is not None:
            found[kind] = value
            error = _standard_error(world, kind, function, episodes)
            found |= {f"{kind}:error": error} if error is not None else {}
    return found


def _asked(world: GymTask, kind: str, function: OwnFunction, episodes: Sequence[RecordedEpisode]) -> float | None:
    with import_entry_point(f"the metric {kind} of task {world.task.id} failed"):
        value = function(tuple(episodes))
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise EnvironmentFault(
            f"the metric {kind} of task {world.task.id} returned {value!r:.80}; it must return a finite number, or None "
            "where there is none"
        )
    return float(value)


def _standard_error(world: GymTask, kind: str, function: OwnFunction, episodes: Sequence[RecordedEpisode]) -> float | None:
    """By the jackknife that leaves out a tenth at a time (Shao & Wu, The Annals of Statistics 17, 1989).

    None where there are too few episodes for that, or where the function says nothing of fewer than all.
    """
    if len(episodes) < GROUPS:
        return None
    left = [[one for index, one in enumerate(episodes) if index % GROUPS != out] for out in range(GROUPS)]
    try:
        values = [_asked(world, kind, function, some) for some in left]
    except EnvironmentFault:
        return None
    known = [value for value in values if value is not None]
    if len(known) < GROUPS:
        return None
    mean = math.fsum(known) / GROUPS
    return math.sqrt((GROUPS - 1) / GROUPS * math.fsum((value - mean) ** 2 for value in known))


def custom_metric_faults(
    world: GymTask, recorded: Mapping[str, float], episodes: Sequence[RecordedEpisode]
) -> Iterator[str]:
    """What differs between a result's `metrics` and what the functions say now, roundings aside."""
    kinds = [key for kind in load_metric_functions(world.task) for key in (kind, f"{kind}:error")]
    try:
        now = compute_custom_metrics(world, episodes)
    except EnvironmentFault as error:
        yield " ".join(str(error).split())[:300]
        return
    for key in kinds:
        was, found = recorded.get(key), now.get(key)
        if (was is None) != (found is None) or not math.isclose(was or 0.0, found or 0.0, rel_tol=1e-9, abs_tol=1e-12):
            yield f"the metric {key} is {found!r}, not {was!r}"


def to_episodes(
    world: GymTask, seeds: Sequence[str], totals: Sequence[float], played: Iterable[Played]
) -> list[RecordedEpisode]:
    """The episodes that count; those of a script that were never played are not among them."""
    return [
        RecordedEpisode(seed=seed, total=total, length=length, world=world, recorded=actions)
        for seed, total, (length, actions) in zip(seeds, totals, played, strict=False)
    ]


def split_by_length(lengths: Sequence[int], actions: Sequence[npt.NDArray[Any]]) -> list[Played]:
    """Length and actions of each episode, where all actions lie behind each other in one array per leaf."""
    ends = np.cumsum(lengths).tolist()
    return [(length, [leaf[end - length : end] for leaf in actions]) for length, end in zip(lengths, ends, strict=True)]
