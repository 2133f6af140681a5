"""Verification of a result: replaying its trace on the environment, without the agent, must give the same numbers."""

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from evaluator.host.envs.custom_metrics import custom_metric_faults, split_by_length, to_episodes
from evaluator.host.envs.episode_recorder import EpisodeChecksum
from evaluator.host.envs.gym_task import GymTask
from evaluator.host.envs.spaces import IllegalActionError, ObservationEncoder
from evaluator.host.seeds.derived_seeds import episode_seeds
from evaluator.host.seeds.encryption import decrypt_result, decrypt_trace
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.training_scripts.script_env_server import NO_STEP_LIMIT
from evaluator.host.verification import Verification, VerificationStatus, is_same_number, is_stale
from evaluator.model.config.training_script import MAX_OPEN_ENVIRONMENTS
from evaluator.model.measurement_version import COUNTS_AFTER_TRAINING
from evaluator.model.records.parse import parse_result, parse_trace
from evaluator.model.records.result import Result, WantedResult
from evaluator.model.records.script_record import ScriptRecord
from evaluator.model.records.trace import Trace
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import secret_hash
from evaluator.model.validation_messages import error_in_words

TRACE_MISSING = "its trace is missing"
OBSERVATION_CHUNK_BYTES = 1 << 24


@dataclass(frozen=True, kw_only=True)
class ReplayedEpisode:
    """A replayed episode."""

    total: float
    checksum: str
    ended_at: int | None
    """The step at which it ended, None if the actions did not end it."""


def check_fields(result: Result, secret: SeasonSecret | None = None) -> Iterator[str]:
    """Faults that can be found without an environment: in the key and the seeds."""
    fields = {name: getattr(result, name) for name in WantedResult.model_fields}
    if WantedResult(**fields).key() != result.key:
        yield "the key does not fit the submission, task, runtime, measurement version, season and beacon"
    if result.seeds not in _counted_seeds(result, secret):
        yield "the seeds are not those that the beacon gives"


def _counted_seeds(result: Result, secret: SeasonSecret | None) -> Iterator[tuple[str, ...]]:
    """What the seeds of the episodes that count may be, by the beacon or the secret; nothing where the secret is missing.

    A script's in a sealed season had one numbering with its training episodes in results made before they got their own.
    """
    first, count = _first(result), len(result.seeds)
    if (sha256 := secret_hash(result.beacon)) is None:
        yield episode_seeds(result.season, result.beacon, result.submission_digest, result.task, count, first)
    elif secret is not None and secret.sha256 == sha256:
        yield secret.episode_seeds(result.season, result.task, count)
        yield secret.episode_seeds(result.season, result.task, count, first)


def _script_seeds(result: Result, script: ScriptRecord, secret: SeasonSecret | None) -> tuple[str, ...]:
    """The seeds of all of a script's episodes, after `check_fields`."""
    count, name = len(script.lengths), (result.submission_digest, result.task)
    if secret_hash(result.beacon) is None or secret is None:
        return episode_seeds(result.season, result.beacon, *name, count)
    if result.seeds != secret.episode_seeds(result.season, result.task, len(result.seeds)):
        return secret.episode_seeds(result.season, result.task, count)
    first = _first(result)
    return tuple(secret.script_seed(result.season, *name, episode, first) for episode in range(count))


def _first(result: Result) -> int:
    """The number of the first counted episode; of a script's episodes only some count."""
    if result.script is None or result.verdict is not Verdict.OK:
        return 0
    return result.script.first(len(result.seeds))


def verify_result(
    path: str, content: bytes, trace: bytes | None, gym_task: GymTask | None, secret: SeasonSecret | None = None
) -> Verification:
    """Verify one result.

    `gym_task`: None if the challenge has no such task any more. `secret`: the season's.
    """
    try:
        result = parse_result(content)
        if result.sealed is not None:
            if secret is None:
                return Verification(
                    path=path, status=VerificationStatus.SEALED, faults=("its episodes are secret until the reveal",)
                )
            result, trace = _decrypt(result, trace, secret)
        faults = list(check_fields(result, secret))
    except ValueError as error:
        return Verification.refuted(path, error_in_words(error, 300))
    if faults:
        return Verification.refuted(path, *faults)
    if why := is_stale(result, gym_task.task if gym_task else None):
        return Verification(path=path, status=VerificationStatus.STALE, faults=(why,))
    assert gym_task is not None
    if len(result.seeds) != gym_task.task.counted:
        return Verification.refuted(path, "the number of episodes is not the task's")
    if result.verdict is not Verdict.OK:
        return Verification(path=path, status=VerificationStatus.VERIFIED)
    return _verify_trace(path, result, trace, gym_task, secret)


def _decrypt(result: Result, trace: bytes | None, secret: SeasonSecret) -> tuple[Result, bytes | None]:
    if trace is not None and hashlib.sha256(trace).hexdigest() != result.trace_sha256:
        raise ValueError("the trace is not the one the result names")
    return decrypt_result(result, secret), decrypt_trace(trace, result, secret) if trace is not None else None


def _verify_trace(
    path: str, result: Result, content: bytes | None, gym_task: GymTask, secret: SeasonSecret | None
) -> Verification:
    if content is None:
        return Verification.refuted(path, TRACE_MISSING)
    if hashlib.sha256(content).hexdigest() != result.trace_sha256:
        return Verification.refuted(path, "the trace is not the one the result names")
    try:
        trace = parse_trace(content)
        faults = tuple(_replay_faults(result, trace, gym_task, secret)) or tuple(
            _custom_metric_faults(result, trace, gym_task)
        )
    except ValueError as error:
        return Verification.refuted(path, error_in_words(error, 300))
    status = VerificationStatus.REFUTED if faults else VerificationStatus.VERIFIED
    return Verification(path=path, status=status, faults=faults, steps=trace.steps())


def _custom_metric_faults(result: Result, trace: Trace, gym_task: GymTask) -> Iterator[str]:
    if any(metric.is_own for metric in gym_task.task.metrics):
        actions = checked_actions(trace, gym_task)
        played = split_by_length([episode.length for episode in trace.episodes], actions)[_first(result) :]
        yield from custom_metric_faults(
            gym_task, result.metrics, to_episodes(gym_task, result.seeds, result.returns, played)
        )


def _replay_faults(result: Result, trace: Trace, gym_task: GymTask, secret: SeasonSecret | None) -> Iterator[str]:
    if trace.key != result.key:
        yield "the trace has another key"
        return
    if (result.script is None) != (gym_task.task.script is None):
        yield "a script was played where none is measured, or the other way round"
        return
    script = result.script
    lengths, returns = (script.lengths, script.returns) if script else (result.lengths, result.returns)
    if tuple(e.length for e in trace.episodes) != lengths:
        yield "the trace has other lengths"
        return
    seeds = result.seeds
    if script and gym_task.task.script:
        yield from _script_faults(result, script, gym_task)
        seeds = _script_seeds(result, script, secret)
    left = frozenset(script.unfinished) if script else frozenset()
    actions = checked_actions(trace, gym_task)
    environment = gym_task.make() if gym_task.task.reusable else None
    begin = 0
    for index, episode in enumerate(trace.episodes):
        part = [array[begin : begin + episode.length] for array in actions]
        begin += episode.length
        now = replay_episode(gym_task, seeds[index], part, environment)
        if now.ended_at != (None if index in left else episode.length):
            yield f"episode {index} ends at step {now.ended_at}, not {episode.length}"
        elif not is_same_number(now.total, returns[index]):
            yield f"episode {index} returns {now.total!r}, not {returns[index]!r}"
        elif now.checksum != episode.checksum:
            yield f"episode {index} meets other observations or rewards"


def _script_faults(result: Result, script: ScriptRecord, gym_task: GymTask) -> Iterator[str]:
    """Faults in which episodes count, and in the number of steps."""
    rules = gym_task.task.script
    assert rules is not None
    if (script.counts_from is None) != (result.protocol < COUNTS_AFTER_TRAINING):
        yield "the script's record does not say where its episodes begin to count, as its measurement version does"
        return
    counted = script.counted(rules)
    are_same = counted.lengths == result.lengths and len(counted.returns) == len(result.returns)
    if not are_same or not all(map(is_same_number, counted.returns, result.returns)):
        yield "the episodes that count are not those that the rules name"
    if script.ended_at is not None and not _may_have_ended(script, script.ended_at):
        yield "the episodes cannot have ended at the steps that the record says"
    if script.counts_from is None:
        # Under version 1 every begun episode could be finished, so only steps of open episodes are beyond the budget.
        if script.steps - sum(sorted(script.lengths)[-MAX_OPEN_ENVIRONMENTS:]) >= rules.steps:
            yield f"the script took more than the {rules.steps} steps that it had"
        return
    if script.steps > rules.steps:
        yield f"the script took more than the {rules.steps} steps that it had"
    if not _may_count_from(script, script.counts_from, rules.training_steps(gym_task.time_limit or NO_STEP_LIMIT)):
        yield f"episode {script.counts_from} is not the first that was begun after the training steps"


def _may_have_ended(script: ScriptRecord, ended_at: Sequence[int]) -> bool:
    """Whether each episode can have ended where it says: not before the steps of all ended so far, nor after the last."""
    order = sorted(zip(ended_at, script.lengths, strict=True))
    taken = itertools.accumulate(length for _, length in order)
    return all(steps <= ended <= script.steps for (ended, _), steps in zip(order, taken, strict=True))


def _may_count_from(script: ScriptRecord, first: int, training_steps: int) -> bool:
    """Whether an episode can be the first that was begun after the training steps.

    The order of steps in environments that were open at once is not recorded. But before an episode begins, it and later
    ones have no steps, and of the earlier ones only those still open have steps left.
    """
    if first < len(script.lengths) and sum(script.lengths[:first]) < training_steps:
        return False
    before = script.lengths[: max(0, first - 1)]  # the episode before it was begun within the training steps
    return first == 0 or sum(before) - sum(sorted(before)[-(MAX_OPEN_ENVIRONMENTS - 1) :]) < training_steps


def checked_actions(trace: Trace, gym_task: GymTask) -> list[npt.NDArray[np.generic]]:
    """The trace's actions, one array per leaf, checked against the action space and the task's settings.

    Raises:
        ValueError: an action is not one that the environment can have got.
    """
    decoder = gym_task.decoder()
    if len(trace.actions) != len(decoder.leaves):
        raise ValueError("the trace has another number of action leaves than the task")
    steps = trace.steps()
    if gym_task.time_limit and any(e.length > gym_task.time_limit for e in trace.episodes):
        raise ValueError("an episode is longer than the task's time limit")
    arrays = []
    for leaf, packed in zip(decoder.leaves, trace.actions, strict=True):
        if packed.shape != leaf.shape:
            raise ValueError("the trace's actions have another shape than the task's")
        stored = packed.array(steps)
        array = stored.astype(leaf.dtype)
        if stored.dtype != array.dtype and ("f" in (stored.dtype.kind, array.dtype.kind) or (stored != array).any()):
            raise ValueError("the trace's actions are of another type than the task's")
        arrays.append(array)
    if not steps:  # a script that never took a step
        return arrays
    try:
        is_settled = decoder.is_settled(arrays)
    except IllegalActionError as error:
        raise ValueError(f"step {error.row}: {error}") from error
    if not is_settled:
        raise ValueError("actions are outside the space or off the task's grid")
    return arrays


def replay_episode(
    gym_task: GymTask, seed: str, actions: list[npt.NDArray[np.generic]], reused: gymnasium.Env[Any, Any] | None = None
) -> ReplayedEpisode:
    """Step a new environment, or a reusable one, through recorded actions."""
    environment = reused or gym_task.make()
    encoder = gym_task.encoder()
    checksum = EpisodeChecksum(len(encoder.leaves))
    checksum.add_observations(encoder.encode([gym_task.start(environment, seed)]))
    todo = gym_task.decoder().actions(actions)
    chunk = max(1, OBSERVATION_CHUNK_BYTES // max(1, sum(leaf.nbytes for leaf in encoder.leaves)))
    total, taken = 0.0, 0
    terminated = truncated = False
    step = environment.step
    while taken < len(todo) and not (terminated or truncated):
        seen, earned = [], []
        for action in todo[taken : taken + chunk]:
            observation, reward, terminated, truncated, _ = step(action)
            seen.append(observation)
            earned.append(float(reward))
            if terminated or truncated:
                break
        taken += len(seen)
        total = _add_chunk(checksum, encoder, seen, earned, total)
    if reused is None:
        environment.close()
    truncated = truncated or taken == gym_task.time_limit
    ended = bool(terminated or truncated)
    closing = checksum.close(taken, terminated=bool(terminated), truncated=bool(truncated))
    return ReplayedEpisode(total=total, checksum=closing, ended_at=taken if ended else None)


def _add_chunk(
    checksum: EpisodeChecksum, encoder: ObservationEncoder, seen: list[object], earned: list[float], total: float
) -> float:
    checksum.add_observations(encoder.encode(seen))
    checksum.add_rewards(np.array(earned).tobytes())
    for reward in earned:
        total += reward
    return total
