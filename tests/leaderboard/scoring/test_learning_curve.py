"""Learning curves and the two metrics made of them."""

import dataclasses

from evaluator.model.config.metric import Metric
from evaluator.model.config.submission import SubmissionKind
from evaluator.model.config.training_script import ScriptRules
from leaderboard.build_standings import build_standings
from leaderboard.scoring import metrics
from tests.leaderboard import make

RULES = ScriptRules(steps=100, last=2, worst=-10, window=2)


def script(login):
    entry = make.entry(login)
    return dataclasses.replace(entry, submission=entry.submission.model_copy(update={"kind": SubmissionKind.SCRIPT}))


def curve(*episodes, rules=RULES, counts_from=None, ended_at=None):
    """Of episodes that are each a return, a length, and whether it came to its end."""
    returns, lengths, finished = zip(*episodes, strict=True)
    left = [index for index, is_finished in enumerate(finished) if not is_finished]
    record = {"returns": returns, "lengths": lengths, "unfinished": left, "counts_from": counts_from}
    record |= {"ended_at": ended_at} if ended_at else {}
    return metrics.learning_curve(make.result(script("alice"), [1.0], script=record), rules)


def test_an_episode_that_was_left_has_the_worst_return():
    learning = curve((1.0, 10, True), (50.0, 5, False), (3.0, 10, True))

    assert (learning.steps, learning.returns) == ((10, 15, 25), (1.0, -10.0, 3.0))


def test_the_last_episode_of_the_training_may_be_left_and_its_steps_were_taken():
    episodes = (1.0, 10, True), (50.0, 5, False), (3.0, 10, True)

    assert curve(*episodes, counts_from=2).returns == (1.0, 3.0)
    assert curve(*episodes, counts_from=2).steps == (10, 25)
    assert curve(*episodes, counts_from=3).returns == (1.0, -10.0, 3.0)


def test_an_episode_waits_for_those_that_were_begun_before_it():
    episodes = (9.0, 10, True), (1.0, 10, False), (2.0, 10, True)

    assert curve(*episodes, ended_at=[30, 15, 20]).steps == (30, 30, 30)
    assert curve(*episodes, ended_at=[10, 30, 20]).steps == (10, 30, 30)
    assert curve(*episodes).steps == (10, 20, 30)
    assert curve(*episodes, ended_at=[30, 15, 20]).returns == curve(*episodes).returns == (9.0, -10.0, 2.0)


def test_without_a_finished_episode_there_is_no_curve():
    assert curve((9.0, 10, False)) is None


def test_steps_to_threshold_needs_a_full_window():
    learning = curve((9.0, 10, True), (1.0, 10, True), (5.0, 10, True), (7.0, 10, True))

    assert metrics.steps_to_threshold(learning, 5) == 20
    assert metrics.steps_to_threshold(learning, 6) == 40
    assert metrics.steps_to_threshold(learning, 9) is None


def test_the_area_is_the_mean_height_over_the_whole_budget():
    assert metrics.area_under_curve(curve((10.0, 50, True))) == (-10 * 50 + 10 * 50) / 100
    assert metrics.area_under_curve(curve((10.0, 50, True), (20.0, 25, True))) == (-500 + 250 + 15 * 25) / 100


def test_what_ends_beyond_the_budget_has_no_part_in_the_area():
    assert metrics.area_under_curve(curve((10.0, 50, True), (20.0, 500, True))) == 0


def test_who_never_reaches_the_threshold_is_last_though_fewer_steps_are_better():
    metric = Metric(name="Steps", kind="steps_to_threshold", direction="lower", threshold=5)
    task = make.task(anchors=None, script=RULES, metrics=(metric,))
    never, slow, fast = (script(name) for name in ("never", "slow", "fast"))

    def result(who, returns, length):
        record = {"returns": returns, "lengths": [length] * len(returns)}
        return make.result(who, returns[-2:], on=task, script=record)

    results = [result(never, [0.0, 0.0], 1), result(slow, [0.0, 9.0, 9.0], 20), result(fast, [9.0, 9.0], 20)]
    rows = build_standings(make.challenge(task), [never, slow, fast], results, official=True).tasks[0].rows

    assert [(row.entry.login, row.place) for row in rows] == [("fast", 1), ("slow", 2), ("never", 3)]
    assert [row.estimate.score for row in rows[:2]] == [40, 60]
    assert rows[2].estimate.is_missing
