"""Whatever is changed in a result or a trace is found, also when every hash was made to fit."""

import dataclasses
import hashlib
from typing import Any

import numpy as np
import pytest

from evaluator.host.envs.gym_task import GymTask, load_gym_task
from evaluator.host.solo.evaluate_agent import Evaluation
from evaluator.host.solo.verify_result import verify_result
from evaluator.host.verification import Verification, VerificationStatus
from evaluator.model.config.task import Task
from evaluator.model.records.parse import parse_result, parse_trace
from evaluator.model.records.result import Result, WantedResult
from evaluator.model.records.trace import Trace, TraceLeaf
from tests.evaluations import ANGLE_RULE, evaluated

TASK = Task(id="CartPole-v1", episodes=4)


@pytest.fixture(scope="module")
def world() -> GymTask:
    return load_gym_task(TASK)


@pytest.fixture(scope="module")
def honest() -> Evaluation:
    return evaluated(ANGLE_RULE, TASK)


def judged(result: Result | bytes, trace: bytes | None, world: GymTask | None) -> Verification:
    return verify_result("r.json", result if isinstance(result, bytes) else result.serialised(), trace, world)


def forged(result: Result, trace: Trace | None = None, **changes: Any) -> tuple[Result, bytes | None]:
    """A result with other values, every hash of it recomputed as a forger would."""
    document = {**result.document(), **changes}
    if trace is not None:
        document["trace_sha256"] = trace.sha256()
    return Result.with_self_hash(document), trace.serialised() if trace else None


def rekeyed(result: Result, **changes: Any) -> Result:
    """Other identity fields and the key that fits them."""
    document = {**result.document(), **changes}
    wanted = WantedResult(**{name: document[name] for name in WantedResult.model_fields})
    return Result.with_self_hash({**document, "key": wanted.key()})


def test_an_honest_result_is_verified(honest: Evaluation, world: GymTask) -> None:
    finding = judged(honest.result, honest.trace, world)

    assert (finding.status, finding.faults) == (VerificationStatus.VERIFIED, ())
    assert sum(honest.result.lengths) == finding.steps


def test_every_changed_byte_of_a_result_is_found(honest: Evaluation, world: GymTask) -> None:
    content = honest.result.serialised()
    for index in range(len(content)):
        changed = bytearray(content)
        changed[index] ^= 1
        assert judged(bytes(changed), honest.trace, world).status is not VerificationStatus.VERIFIED, content[
            index - 20 : index + 5
        ]
    assert judged(content + b" ", honest.trace, world).status is VerificationStatus.REFUTED
    assert judged(content[:-1], honest.trace, world).status is VerificationStatus.REFUTED


def test_every_changed_byte_of_a_trace_is_found(honest: Evaluation, world: GymTask) -> None:
    assert honest.trace is not None
    for index in range(len(honest.trace)):
        changed = bytearray(honest.trace)
        changed[index] ^= 1
        assert judged(honest.result, bytes(changed), world).status is VerificationStatus.REFUTED


def test_a_better_return_with_fitting_hashes_is_found(honest: Evaluation, world: GymTask) -> None:
    returns = [*honest.result.returns[:-1], 1e6]
    result, _ = forged(honest.result, returns=returns)

    finding = judged(result, honest.trace, world)

    assert VerificationStatus.REFUTED is finding.status
    assert finding.faults[0].startswith("episode 3 returns ")


def test_other_seeds_with_fitting_hashes_are_found(honest: Evaluation, world: GymTask) -> None:
    seeds = ["0" * 32, *honest.result.seeds[1:]]
    result, _ = forged(honest.result, seeds=seeds)

    assert judged(result, honest.trace, world).faults == ("the seeds are not those that the beacon gives",)


def test_a_key_that_does_not_fit_is_found(honest: Evaluation, world: GymTask) -> None:
    result, _ = forged(honest.result, key="1" * 64)

    assert "the key does not fit" in judged(result, honest.trace, world).faults[0]


def test_a_result_of_another_submission_is_found_by_its_seeds(honest: Evaluation, world: GymTask) -> None:
    stolen = rekeyed(honest.result, submission_digest="cd" * 32)

    assert judged(stolen, honest.trace, world).faults == ("the seeds are not those that the beacon gives",)


def test_changed_actions_with_fitting_hashes_are_found(honest: Evaluation, world: GymTask) -> None:
    trace = parse_trace(honest.trace or b"")
    actions = trace.actions[0].array(trace.steps()).copy()
    actions[5] ^= 1
    result, raw = forged(honest.result, trace.model_copy(update={"actions": (TraceLeaf.of(actions),)}))

    assert judged(result, raw, world).status is VerificationStatus.REFUTED


def test_actions_outside_the_space_are_found(honest: Evaluation, world: GymTask) -> None:
    trace = parse_trace(honest.trace or b"")
    actions = trace.actions[0].array(trace.steps()).copy()
    actions[7] = 2
    result, raw = forged(honest.result, trace.model_copy(update={"actions": (TraceLeaf.of(actions),)}))

    assert judged(result, raw, world).faults == ("step 7: the action 2 is outside 0…1",)


def test_an_episode_cut_short_is_found(honest: Evaluation, world: GymTask) -> None:
    trace = parse_trace(honest.trace or b"")
    actions = trace.actions[0].array(trace.steps())
    first = trace.episodes[0]
    short = (first.model_copy(update={"length": first.length - 1}), *trace.episodes[1:])
    cut = trace.model_copy(update={"episodes": short, "actions": (TraceLeaf.of(actions[1:]),)})
    lengths = [e.length for e in short]
    result, raw = forged(honest.result, cut, lengths=lengths)

    assert judged(result, raw, world).status is VerificationStatus.REFUTED


def test_fewer_episodes_than_the_task_has_are_found(honest: Evaluation, world: GymTask) -> None:
    document = honest.result.document()
    part = {name: document[name][:2] for name in ("seeds", "returns", "lengths")}
    result, _ = forged(honest.result, **part)

    assert judged(result, honest.trace, world).faults == ("the number of episodes is not the task's",)


def test_another_checksum_is_found_and_says_where(honest: Evaluation, world: GymTask) -> None:
    trace = parse_trace(honest.trace or b"")
    episodes = list(trace.episodes)
    episodes[2] = episodes[2].model_copy(update={"checksum": "0" * 32})
    result, raw = forged(honest.result, trace.model_copy(update={"episodes": tuple(episodes)}))

    assert judged(result, raw, world).faults == ("episode 2 meets other observations or rewards",)


def test_a_compression_bomb_is_never_unpacked(honest: Evaluation, world: GymTask) -> None:
    trace = parse_trace(honest.trace or b"")
    bomb = TraceLeaf.of(np.zeros(200_000_000, np.int64))
    result, raw = forged(honest.result, trace.model_copy(update={"actions": (bomb,)}))

    finding = judged(result, raw, world)

    assert VerificationStatus.REFUTED is finding.status
    assert "are not the" in finding.faults[0]


def test_a_missing_trace_and_a_gone_task_are_named(honest: Evaluation, world: GymTask) -> None:
    assert judged(honest.result, None, world).faults == ("its trace is missing",)
    assert judged(honest.result, honest.trace, None).status is VerificationStatus.STALE
    other = dataclasses.replace(world, task=TASK.model_copy(update={"episodes": 5}))
    assert judged(honest.result, honest.trace, other).status is VerificationStatus.STALE


@pytest.mark.parametrize("junk", [b"", b"[]", b"{", b"\xff", b'{"schema": NaN}', b'{"a":1,"a":2}', b"[" * 100_000])
def test_junk_is_refuted_with_a_reason(junk: bytes, world: GymTask) -> None:
    finding = judged(junk, None, world)

    assert VerificationStatus.REFUTED is finding.status
    assert finding.faults[0]


def test_a_failed_result_is_verified_by_its_claims(world: GymTask) -> None:
    failed = evaluated("class Agent:\n    def act(self, observation):\n        return 1 / 0\n", TASK)

    assert (judged(failed.result, None, world).status, judged(failed.result, None, world).steps) == (
        VerificationStatus.VERIFIED,
        0,
    )
    assert failed.trace is None
    assert failed.result.returns == ()


def test_the_trace_hash_is_over_the_files_bytes(honest: Evaluation) -> None:
    assert honest.result.trace_sha256 == hashlib.sha256(honest.trace or b"").hexdigest()
    assert parse_result(honest.result.serialised()) == honest.result
