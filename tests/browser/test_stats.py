"""The browser's statistics against scipy's: node runs the module as it is."""

import json
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

from tests import needs

ASSETS = Path(__file__).parents[2] / "site" / "assets" / "js"
Z = 1.959963984540054


@pytest.fixture(scope="module")
def node():
    """Runs JavaScript after a module's source: what the expression is, as JSON."""
    path = needs.node()

    def run(module, expression, **values):
        source = (ASSETS / module).read_text("utf-8")
        names = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items())
        code = f"{source}\n{names}console.log(JSON.stringify({expression}));"
        done = subprocess.run(
            [path, "--input-type=module", "-"], input=code, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


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
    middle, margin = math.log(p / (1 - p)), stats.t.ppf(0.975, freedom) * math.sqrt(sum(parts)) / (p * (1 - p))
    return p, 1 / (1 + math.exp(margin - middle)), 1 / (1 + math.exp(-margin - middle))


def newcombe(p, m, n):
    more = (m + n) / 2 - 1

    def miss(theta):
        spread = theta * (1 - theta) * (1 + more * (1 - theta) / (2 - theta) + more * theta / (1 + theta)) / (m * n)
        return abs(p - theta) - Z * math.sqrt(spread)

    low = optimize.brentq(miss, 1e-12, p - 1e-9) if p > 0 else 0.0
    high = optimize.brentq(miss, p + 1e-9, 1 - 1e-12) if p < 1 else 1.0
    return low, high


def test_the_probability_of_improvement_is_mann_whitneys(node):
    for a, b in samples():
        result = node("stats.js", "improvement(a, b)", a=a.tolist(), b=b.tolist())

        assert result["p"] == pytest.approx(stats.mannwhitneyu(a, b).statistic / len(a) / len(b), abs=1e-12)


def test_its_interval_is_brunner_and_munzels_on_the_logit_scale(node):
    for a, b in samples():
        result = node("stats.js", "improvement(a, b)", a=a.tolist(), b=b.tolist())

        assert [result["p"], result["low"], result["high"]] == pytest.approx(by_ranks(a, b), abs=1e-5)


def test_both_directions_say_the_same(node):
    for a, b in samples():
        one, other = node("stats.js", "[improvement(a, b), improvement(b, a)]", a=a.tolist(), b=b.tolist())

        assert [one["p"], one["low"], one["high"]] == pytest.approx([1 - other["p"], 1 - other["high"], 1 - other["low"]])


@pytest.mark.parametrize(
    ("a", "b", "p"), [([1.0] * 100, [0.0] * 80, 1.0), ([0.0] * 9, [1.0] * 9, 0.0), ([5.0] * 30, [5.0] * 30, 0.5)]
)
def test_without_a_spread_the_interval_is_newcombes(node, a, b, p):
    result = node("stats.js", "improvement(a, b)", a=a, b=b)

    assert result["p"] == p
    assert [result["low"], result["high"]] == pytest.approx(newcombe(p, len(a), len(b)), abs=1e-6)


@pytest.mark.parametrize(("a", "b"), [([1.0], [0.0, 2.0, 3.0]), ([1.0, 2.0], [0.0])])
def test_a_single_episode_says_nothing(node, a, b):
    result = node("stats.js", "improvement(a, b)", a=a, b=b)

    assert (result["low"], result["high"]) == (0, 1)


def test_the_interval_holds_the_truth_in_95_of_100_cases(node):
    chance = np.random.default_rng(3)
    cases = [(chance.normal(1, 1, 40).tolist(), chance.normal(0, 3, 40).tolist()) for _ in range(1000)]
    intervals = node("stats.js", "cases.map(([a, b]) => improvement(a, b))", cases=cases)
    truth = stats.norm.cdf(1 / math.sqrt(10))

    assert 0.93 <= np.mean([one["low"] <= truth <= one["high"] for one in intervals]) <= 0.98


def test_quantiles_and_means_are_numpys(node):
    for values in [a for a, _ in samples()] + [np.array([3.0])]:
        quarters = [0, 0.1, 0.25, 0.5, 0.75, 1]
        results = node("stats.js", "[mean(v), ...quarters.map(q => quantile(v, q))]", v=values.tolist(), quarters=quarters)

        assert results == pytest.approx([values.mean(), *np.quantile(values, quarters)])


def test_nothing_has_no_mean_and_no_quantile(node):
    assert node("stats.js", "[mean([]), quantile([], 0.5)]") == [None, None]


def test_a_profile_is_the_share_that_reaches_each_value(node):
    for a, b in samples():
        thresholds = node("stats.js", "pooledThresholds([a, b], 50)", a=a.tolist(), b=b.tolist())
        shares = node("stats.js", "profile(a, thresholds)", a=a.tolist(), thresholds=thresholds)

        assert shares == pytest.approx([(a >= one).mean() for one in thresholds])
        assert thresholds == sorted(set(thresholds))
        assert len(thresholds) <= 50
        assert (thresholds[0], thresholds[-1]) == (min(*a, *b), max(*a, *b))
