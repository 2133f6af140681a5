"""The browser's statistics against Python's: node runs the module as it is."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from leaderboard.core.entry import INTERVAL_NAME
from leaderboard.scoring.significance import improvement
from tests import needs

ASSETS = Path(__file__).parents[2] / "site" / "assets" / "js"


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


def edge_cases():
    yield from ((a.tolist(), b.tolist()) for a, b in samples())
    yield [1.0] * 100, [0.0] * 80
    yield [0.0] * 9, [1.0] * 9
    yield [5.0] * 30, [5.0] * 30
    yield [1.0], [0.0, 2.0, 3.0]
    yield [1.0, 3.0], [2.0, 2.5]
    yield [1.0, 3.0, 5.0], [2.0, 4.0]
    chance = np.random.default_rng(9)
    for size in (2, 3, 4, 5, 11, 100, 300, 700):
        yield chance.normal(size=size).round(1).tolist(), chance.normal(0.1, 2, size=size + 1).round(1).tolist()


def test_the_probability_of_improvement_is_pythons(node):
    cases = list(edge_cases())
    found = node("stats.js", "cases.map(([a, b]) => improvement(a, b))", cases=cases)

    for (a, b), shown in zip(cases, found, strict=True):
        assert [shown["p"], shown["low"], shown["high"]] == pytest.approx(improvement(a, b), rel=1e-12, abs=1e-12)


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


def test_the_interval_is_called_as_in_python(node):
    assert node("stats.js", "INTERVAL_NAME") == INTERVAL_NAME


# What the charts need of a page.
PAGE = """
import { strips, profiles } from "./charts.js";
globalThis.Node = class { setAttribute() {} append() {} };
globalThis.document = { documentElement: { clientWidth: 1000 }, createElementNS: () => new Node() };
for (const values of cases) for (const draw of [strips, profiles]) draw([{ name: "", values }], { decimals: 1, label: "" });
"""
FAR = (1e17, -1e17, 1e15, 9e15, 1e30, 1e100)


@pytest.mark.attack(
    "returns_side_by_side_far_from_zero", family="pages", outcome="an axis of a few marks",
    tries="Earns huge returns that differ in their last digit only, so that the marks of a chart's axis never end in a "
    "visitor's page.",
)  # fmt: skip
def test_the_axis_of_any_returns_has_an_end():
    """One number more than such a mark is the same number, so the page hung until the browser gave it up."""
    cases = [[far, np.nextafter(far, np.inf)] for far in FAR] + [[far, far * (1 + 1e-15)] for far in FAR] + [[-1e100, 1e100]]
    given = f"const cases = {json.dumps(cases)};\n"
    done = subprocess.run(
        [needs.node(), "--max-old-space-size=64", "--input-type=module", "-"], input=given + PAGE, cwd=ASSETS,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr[:1000]
