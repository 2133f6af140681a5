"""A host's own metrics: asked at the referee's side, asked again by verification, and never the agent's fault."""

import math

import numpy as np
import pytest

from evaluator.host.envs.custom_metrics import RecordedEpisode, compute_custom_metrics, custom_metric_faults
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.errors import EnvironmentFault
from evaluator.host.solo.verify_result import verify_result
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.metric import Metric
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from tests.evaluations import ANGLE_RULE, evaluated

HERE = "tests.evaluator.own_metrics"
EPISODES = 12


def task(*names, **fields):
    metrics = tuple(Metric(name=name, kind=f"{HERE}:{name}", direction="lower") for name in names)
    return Task(id="CartPole-v1", episodes=EPISODES, max_episode_steps=20, metrics=metrics, **fields)


def test_a_result_holds_what_the_functions_say_and_verification_says_the_same():
    of = task("share_of_lefts", "largest_angle", "replayed_return")
    evaluation = evaluated(ANGLE_RULE, of)
    values = {kind.partition(":")[2]: value for kind, value in evaluation.result.metrics.items() if kind.startswith(HERE)}

    assert evaluation.result.verdict == "ok"
    assert 0.3 < values["share_of_lefts"] < 0.7
    assert 0 < values["largest_angle"] < 0.3
    assert values["replayed_return"] == sum(evaluation.result.returns) / EPISODES
    assert values["largest_angle:error"] > 0
    assert values["replayed_return:error"] == 0
    assert (
        verify_result("r", evaluation.result.serialised(), evaluation.trace, load_gym_task(of)).status
        is VerificationStatus.VERIFIED
    )


@pytest.mark.parametrize(
    ("recorded", "is_right"), [({}, True), ({"builtins:len": 0.0}, True), ({"builtins:len": 1.0}, False)]
)
def test_no_episode_has_no_value_but_in_older_records(recorded, is_right):
    of = load_gym_task(Task(id="CartPole-v1", metrics=(Metric(name="Number", kind="builtins:len", direction="lower"),)))

    assert compute_custom_metrics(of, []) == {}
    assert (list(custom_metric_faults(of, recorded, [])) == []) is is_right


@pytest.mark.parametrize("key", [f"{HERE}:largest_angle", f"{HERE}:largest_angle:error"])
@pytest.mark.parametrize("change", ["another value", "left out"])
def test_a_changed_value_is_refuted(key, change):
    of = task("largest_angle")
    evaluation = evaluated(ANGLE_RULE, of)
    metrics = {k: v for k, v in evaluation.result.metrics.items() if k != key}
    forged = Result.with_self_hash(
        {**evaluation.result.document(), "metrics": metrics | ({key: 0.9} if change == "another value" else {})}
    )

    finding = verify_result("r", forged.serialised(), evaluation.trace, load_gym_task(of))

    assert finding.status is VerificationStatus.REFUTED
    assert key in finding.faults[0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raises", "failed: division by zero"),
        ("text", "returned '3'; it must return a finite number"),
        ("nan", "returned nan; it must return a finite number"),
        ("huge", "returned 1e+308; it must return a finite number of at most ±1e+100"),
        ("flag", "returned True; it must return a finite number"),
    ],
)
def test_a_function_that_fails_is_our_fault_in_one_line(name, words):
    result = evaluated(ANGLE_RULE, task(name)).result

    assert (result.verdict, result.returns) == ("internal_error", ())
    assert f"the metric {HERE}:{name} of task CartPole-v1" in result.message
    assert words in result.message
    assert "\n" not in result.message


def test_no_value_is_left_out_and_not_0():
    assert evaluated(ANGLE_RULE, task("none")).result.metrics == {"clipped_actions": 0.0}


def test_a_function_that_needs_all_episodes_has_no_standard_error():
    metrics = evaluated(ANGLE_RULE, task("wants_all")).result.metrics

    assert f"{HERE}:wants_all" in metrics
    assert f"{HERE}:wants_all:error" not in metrics


def test_of_few_episodes_nobody_knows_the_standard_error():
    of = task("first").model_copy(update={"episodes": 9})

    assert set(evaluated(ANGLE_RULE, of).result.metrics) == {"clipped_actions", f"{HERE}:first"}


@pytest.mark.parametrize("kind", ["nowhere.at_all:f", f"{HERE}:absent", f"{HERE}:not_a_function"])
def test_a_function_that_is_not_there_is_told_before_anything_is_played(kind):
    of = Task(id="CartPole-v1", metrics=(Metric(name="M", kind=kind, direction="lower"),))

    with pytest.raises(EnvironmentFault, match=f"task CartPole-v1 names the metric {kind}, which is not"):
        load_gym_task(of)


def test_the_standard_error_of_a_mean_is_that_of_the_mean():
    of = Task(
        id="CartPole-v1",
        metrics=(Metric(name="M", kind="tests.evaluator.host.envs.test_custom_metrics:mean_return", direction="higher"),),
    )
    world = load_gym_task(of)
    totals = np.random.default_rng(1).normal(size=1000).tolist()
    episodes = [RecordedEpisode(seed="0" * 32, total=t, length=1, gym_task=world, recorded=()) for t in totals]
    error = compute_custom_metrics(world, episodes)["tests.evaluator.host.envs.test_custom_metrics:mean_return:error"]

    expected = math.sqrt(1 / 1000)
    assert expected / 2 < error < expected * 2


def mean_return(episodes):
    return sum(one.total for one in episodes) / len(episodes)
