"""Scores and their intervals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from leaderboard.scoring.intervals import ENDS, estimates, intervals, percentile_interval, regularised_scores, scores, sizes
from tests.leaderboard import make

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


def one(returns, **fields):
    """The estimate of a single result."""
    return intervals(estimates([returns], make.task(**fields)))[0]


def test_rliable_unit_values():
    x = np.array([[1.0, 2.0], [2.0, 2.0], [1.0, 1.0], [2.0, 1.0]])
    task_means = scores(np.sort(x.T), "mean")

    assert np.median(task_means) == 1.5
    assert scores(np.sort(x.reshape(1, -1)), "mean").tolist() == [1.5]
    assert scores(np.sort(x.reshape(1, -1)), "iqm").tolist() == [1.5]


@settings(deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=40))
def test_iqm_is_the_trimmed_mean_of_scipy(values):
    own = scores(np.sort([values]), "iqm")[0]

    assert own == pytest.approx(stats.trim_mean(values, 0.25), rel=1e-9, abs=1e-6)


@settings(deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=40))
def test_mean_is_the_mean_of_numpy(values):
    assert scores(np.sort([values]), "mean")[0] == pytest.approx(np.mean(values), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("scoring", ["mean", "iqm"])
@pytest.mark.parametrize("value", [0.0, 0.1, -200.3, 1 / 3])
@pytest.mark.parametrize("episodes", [1, 2, 49, 100])
def test_constant_returns_are_a_point(episodes, value, scoring):
    measured = estimates([[value] * episodes], make.task(score=scoring))

    assert measured.score == measured.low == measured.high == measured.centre == value
    assert measured.error == (0 if episodes > 1 else np.inf)


@pytest.mark.parametrize("scoring", ["mean", "iqm"])
@pytest.mark.parametrize("bounds", [None, (-10, 25)])
def test_interval_and_error_agree_with_scipy(scoring, bounds):
    returns = np.random.default_rng(3).exponential(5, size=60)
    resampled = np.append(returns, bounds) if bounds else returns
    statistic = np.mean if scoring == "mean" else (lambda x, axis: stats.trim_mean(x, 0.25, axis=axis))
    expected = stats.bootstrap((resampled,), statistic, n_resamples=20_000, method="percentile", rng=1)

    measured = estimates([returns.tolist()], make.task(score=scoring, bounds=bounds))

    width = expected.confidence_interval.high - expected.confidence_interval.low
    assert abs(measured.low[0] - expected.confidence_interval.low) < 0.05 * width
    assert abs(measured.high[0] - expected.confidence_interval.high) < 0.05 * width
    n = len(resampled)
    assert measured.error[0] == pytest.approx(expected.standard_error * np.sqrt(n / (n - 1)), rel=0.05)


def test_a_hundred_successes_of_a_hundred_are_not_certainty():
    plain, widened = one([1.0] * 100), one([1.0] * 100, bounds=(0, 1))

    assert (plain.low, plain.high) == (1, 1)
    assert widened.score == widened.high == 1
    assert 0.96 < widened.low < 0.98


def test_a_hundred_failures_mirror_a_hundred_successes():
    failures = one([0.0] * 100, bounds=(0, 1))

    assert failures.score == failures.low == 0
    assert 0.02 < failures.high < 0.04


def test_zero_one_returns_have_the_interval_of_a_share():
    half = one([0.0, 1.0] * 50)

    assert half.score == 0.5
    assert half.low == pytest.approx(0.4, abs=0.02)
    assert half.high == pytest.approx(0.6, abs=0.02)


def test_pseudo_episodes_count_in_size_and_centre_but_not_in_the_score():
    bounded = make.task(bounds=(0, 1))

    assert sizes([[1.0] * 8], bounded).tolist() == [10]
    assert regularised_scores([[1.0] * 8], bounded).tolist() == [0.9]
    assert estimates([[1.0] * 8], bounded).score.tolist() == [1]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(NUMBERS, min_size=1, max_size=12), min_size=1, max_size=6),
    st.sampled_from(["mean", "iqm"]),
    st.sampled_from([None, (-1e6, 1e6), (0, 1)]),
)
def test_a_score_is_never_outside_its_interval(returns, scoring, bounds):
    measured = estimates(returns, make.task(score=scoring, bounds=bounds))

    assert (measured.low <= measured.score).all()
    assert (measured.score <= measured.high).all()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(NUMBERS, min_size=1, max_size=12), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_an_interval_is_a_function_of_the_returns_alone(returns, random):
    task = make.task(bounds=(-1e6, 1e6))
    shuffled = random.sample(returns[0], k=len(returns[0]))

    assert intervals(estimates(returns, task))[0] == intervals(estimates([shuffled], task))[0]


@pytest.mark.parametrize("scoring", ["mean", "iqm"])
def test_about_95_of_100_intervals_hold_the_truth(scoring):
    samples = np.random.default_rng(5).normal(3, 2, size=(300, 100))

    measured = estimates(samples.tolist(), make.task(score=scoring))

    held = ((measured.low <= 3) & (measured.high >= 3)).mean()
    assert 0.90 <= held <= 0.99


def test_about_95_of_100_intervals_hold_a_high_chance_of_success():
    samples = (np.random.default_rng(6).random(size=(300, 100)) < 0.97).astype(float)

    measured = estimates(samples.tolist(), make.task(bounds=(0, 1)))

    held = ((measured.low <= 0.97) & (measured.high >= 0.97)).mean()
    assert 0.90 <= held <= 0.995


@given(st.lists(st.lists(NUMBERS, min_size=7, max_size=7), min_size=1, max_size=5), st.integers(1, 7))
def test_ends_are_numpys_quantiles_to_the_last_bit(rows, size):
    drawn = np.array(rows)[:, :size]

    assert percentile_interval(drawn).tolist() == np.quantile(drawn, ENDS, axis=1).tolist()
