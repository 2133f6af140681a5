"""The probability of improvement, against scipy's."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from leaderboard.api.rank_json import standings_document
from leaderboard.build_standings import build_standings
from leaderboard.scoring.significance import compared_values, improvement, mean_improvement
from tests.leaderboard import make

Z = 1.959963984540054


def samples():
    chance = np.random.default_rng(7)
    yield chance.normal(0, 1, 100), chance.normal(0.4, 1, 100)
    yield chance.normal(0, 1, 30), chance.normal(0.5, 5, 80)
    yield chance.integers(0, 2, 100).astype(float), chance.integers(0, 2, 60).astype(float)
    yield np.minimum(500, chance.normal(500, 40, 100)), np.minimum(500, chance.normal(470, 40, 100))
    yield -chance.exponential(100, 12), -chance.exponential(130, 12)


def by_ranks(a, b):
    """Brunner and Munzel's estimate and the logit interval, from ranks instead of counts."""
    m, n = len(a), len(b)
    together = stats.rankdata(np.concatenate([a, b]))
    p = (together[:m].mean() - (m + 1) / 2) / n
    over = (together[:m] - stats.rankdata(a)) / n
    under = (together[m:] - stats.rankdata(b)) / m
    parts = over.var(ddof=1) / m, under.var(ddof=1) / n
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (m - 1) + parts[1] ** 2 / (n - 1))
    middle, margin = (
        math.log(p / (1 - p)),
        stats.t.ppf(0.975, math.floor(freedom + 1e-9)) * math.sqrt(sum(parts)) / (p * (1 - p)),
    )
    return p, 1 / (1 + math.exp(margin - middle)), 1 / (1 + math.exp(-margin - middle))


def newcombe(p, m, n):
    more = (m + n) / 2 - 1

    def miss(theta):
        spread = theta * (1 - theta) * (1 + more * (1 - theta) / (2 - theta) + more * theta / (1 + theta)) / (m * n)
        return abs(p - theta) - Z * math.sqrt(spread)

    low = optimize.brentq(miss, 1e-12, p - 1e-9) if p > 0 else 0.0
    high = optimize.brentq(miss, p + 1e-9, 1 - 1e-12) if p < 1 else 1.0
    return low, high


def test_the_probability_of_improvement_is_mann_whitneys():
    for a, b in samples():
        found = improvement(a.tolist(), b.tolist())

        assert found.probability == pytest.approx(stats.mannwhitneyu(a, b).statistic / len(a) / len(b), abs=1e-12)


def test_its_interval_is_brunner_and_munzels_on_the_logit_scale():
    for a, b in samples():
        found = improvement(a.tolist(), b.tolist())

        assert found == pytest.approx(by_ranks(a, b), abs=1e-9)


def test_both_directions_say_the_same():
    for a, b in samples():
        one, other = improvement(a.tolist(), b.tolist()), improvement(b.tolist(), a.tolist())

        assert one == pytest.approx((1 - other.probability, 1 - other.high, 1 - other.low))


@pytest.mark.parametrize(
    ("a", "b", "p"), [([1.0] * 100, [0.0] * 80, 1.0), ([0.0] * 9, [1.0] * 9, 0.0), ([5.0] * 30, [5.0] * 30, 0.5)]
)
def test_without_a_spread_the_interval_is_newcombes(a, b, p):
    found = improvement(a, b)

    assert found.probability == p
    assert [found.low, found.high] == pytest.approx(newcombe(p, len(a), len(b)), abs=1e-6)


@pytest.mark.parametrize(("a", "b"), [([1.0], [0.0, 2.0, 3.0]), ([1.0, 2.0], [0.0])])
def test_a_single_episode_says_nothing(a, b):
    found = improvement(a, b)

    assert (found.low, found.high) == (0, 1)


def test_the_interval_holds_the_truth_in_95_of_100_cases():
    chance = np.random.default_rng(3)
    found = [improvement(chance.normal(1, 1, 40).tolist(), chance.normal(0, 3, 40).tolist()) for _ in range(1000)]
    truth = stats.norm.cdf(1 / math.sqrt(10))

    assert 0.93 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.98


def test_the_mean_over_tasks_is_rliables():
    chance = np.random.default_rng(5)
    tasks = [(chance.normal(i / 4, 1, 60), chance.normal(0.2, 2, 60)) for i in range(6)]
    found = mean_improvement([improvement(a.tolist(), b.tolist()) for a, b in tasks])

    def stratified(sample):
        return sample[chance.integers(0, len(sample), len(sample))]

    drawn = [np.mean([share_above(stratified(a), stratified(b)) for a, b in tasks]) for _ in range(2000)]
    assert [share_above(a, b) for a, b in tasks] == pytest.approx([u_share(a, b) for a, b in tasks])
    assert found.probability == pytest.approx(np.mean([u_share(a, b) for a, b in tasks]))
    assert [found.low, found.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.006)


def u_share(a, b):
    """rliable's probability of improvement on one task."""
    return stats.mannwhitneyu(a, b).statistic / len(a) / len(b)


def share_above(a, b):
    """The same, without the p-value, which takes most of scipy's time."""
    return (np.sign(a[:, np.newaxis] - b).mean() + 1) / 2


def test_the_mean_of_one_task_is_that_task():
    found = improvement([3.0, 1.0, 4.0, 1.0], [2.0, 0.0, 3.0])

    assert mean_improvement([found]) == pytest.approx(found)


def test_a_task_that_is_always_won_leaves_an_uncertainty():
    won = improvement([1.0] * 20, [0.0] * 20)
    found = mean_improvement([won, won])

    assert found.probability == found.high == 1
    assert won.low < found.low < 1


def test_values_are_those_of_the_metric_that_ranks():
    lower = make.task(anchors=(1, 0), metrics=[{"name": "Length", "kind": "mean_length", "direction": "lower"}])
    success = make.task(metrics=[{"name": "Success", "kind": "success_rate", "direction": "higher", "threshold": 2}])
    result = make.result(make.entry("a"), [1.0, 2.0, 3.0], on=lower, lengths=[5, 6, 7])

    assert compared_values(lower, [result]).tolist() == [-5, -6, -7]
    assert compared_values(success, [result]).tolist() == [0, 1, 1]
    assert compared_values(make.task(), [result, result]).tolist() == [1, 2, 3, 1, 2, 3]


def test_rows_are_compared_with_the_next_one():
    tasks, random = [make.task("first"), make.task("second")], np.random.default_rng(6)
    returns = {
        (login, task.id): random.normal(mean, 1, 12).tolist() for login, mean in (("a", 3), ("b", 2)) for task in tasks
    }
    entries = [make.entry("a"), make.entry("b")]
    results = [make.result(entry, returns[entry.login, task.id], on=task) for entry in entries for task in tasks]
    document = standings_document(build_standings(make.challenge(*tasks), entries, results, official=True))
    by_task = [improvement(returns["a", task.id], returns["b", task.id]) for task in tasks]

    for board, expected in zip(document["tasks"], by_task, strict=True):
        assert [row["improvement_on_next"] for row in board["rows"]] == [expected._asdict(), None]
    shown = [row["improvement_on_next"] for row in document["overall"]]
    assert shown == [mean_improvement(by_task)._asdict(), None]
