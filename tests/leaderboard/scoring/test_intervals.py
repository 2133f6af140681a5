"""Scores and their intervals."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from leaderboard.scoring.intervals import MIN_EQUAL_VALUES, estimates, intervals, pooled_estimate, scores
from leaderboard.scoring.metrics import EpisodeMetric
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
@pytest.mark.parametrize("episodes", [MIN_EQUAL_VALUES, 49, 100])
def test_many_constant_returns_are_a_point(episodes, value, scoring):
    measured = estimates([[value] * episodes], make.task(score=scoring))

    assert measured.score == measured.low == measured.high == measured.centre == value
    assert measured.error == 0


@pytest.mark.parametrize("scoring", ["mean", "iqm", "median"])
@pytest.mark.parametrize("episodes", [1, 2, MIN_EQUAL_VALUES - 1])
def test_a_few_constant_returns_have_no_interval(episodes, scoring):
    measured = estimates([[0.1] * episodes], EpisodeMetric(id="task", score=scoring, bounds=None))

    assert (measured.score, measured.error) == (0.1, np.inf)
    assert np.isnan(measured.low)
    assert np.isnan(measured.high)


def test_symmetric_returns_have_students_interval():
    returns = [*range(-6, 7)]
    expected = stats.t.interval(0.95, 12, loc=0, scale=stats.sem(returns))

    measured = estimates([[float(value) for value in returns]], make.task())

    assert (measured.low[0], measured.high[0]) == pytest.approx(expected)
    assert measured.error[0] == pytest.approx(stats.sem(returns))


def test_the_interval_is_longer_on_the_side_of_the_longer_tail():
    returns = np.random.default_rng(3).exponential(5, size=20)
    t, error = stats.t.ppf(0.975, 19), stats.sem(returns)
    extension = stats.skew(returns, bias=False) * (1 + 2 * t**2) / (6 * np.sqrt(20))

    right, left = (estimates([side.tolist()], make.task()) for side in (returns, -returns))

    assert (right.low[0], right.high[0]) == pytest.approx(
        (returns.mean() - t * error, returns.mean() + (t + extension) * error)
    )
    assert (left.low[0], left.high[0]) == pytest.approx((-right.high[0], -right.low[0]))


def test_an_interquartile_mean_has_the_error_of_its_winsorized_variance():
    returns = np.random.default_rng(4).standard_t(2, size=40)
    winsorized = np.asarray(stats.mstats.winsorize(returns, limits=(0.25, 0.25)))
    error = np.sqrt(39 * winsorized.var(ddof=1) / (20 * 19))

    measured = estimates([returns.tolist()], make.task(score="iqm"))

    assert (measured.error[0], measured.size[0]) == (pytest.approx(error), 20)
    assert measured.high[0] - measured.score[0] == pytest.approx(stats.t.ppf(0.975, 19) * error)


def test_the_error_of_a_median_is_that_of_the_bootstrap():
    returns = np.random.default_rng(5).normal(size=61)
    expected = stats.bootstrap((returns,), np.median, n_resamples=20_000, rng=1).standard_error

    measured = estimates([returns.tolist()], EpisodeMetric(id="task", score="median", bounds=None))

    assert measured.score[0] == np.median(returns)
    assert measured.error[0] == pytest.approx(expected, rel=0.08)


def test_an_entry_chosen_among_many_has_a_wider_interval():
    returns = [float(value) for value in range(-6, 7)]

    one, many = (estimates([returns], make.task(), [tries]) for tries in (1, 5))

    assert one.high[0] == pytest.approx(stats.t.ppf(0.975, 12) * one.error[0])
    assert many.high[0] == pytest.approx(stats.t.ppf(1 - 0.025 / 20, 12) * one.error[0])


def test_draws_are_pooled():
    task, who = make.task(), make.entry("alice")
    halves = tuple(make.result(who, returns, on=task) for returns in ([1.0, 2.0, 5.0], [3.0, 3.0, 4.0, 9.0]))

    pooled = pooled_estimate([halves], task, [1])

    together = estimates([[1.0, 2.0, 5.0, 3.0, 3.0, 4.0, 9.0]], task)

    assert [column.tolist() for column in pooled] == [column.tolist() for column in together]


def test_a_hundred_successes_of_a_hundred_are_not_certainty():
    plain, widened = one([1.0] * 100), one([1.0] * 100, bounds=(0, 1))

    assert (plain.low, plain.high) == (1, 1)
    assert widened.score == widened.high == 1
    assert 0.94 < widened.low < 0.97


def test_a_hundred_failures_mirror_a_hundred_successes():
    failures = one([0.0] * 100, bounds=(0, 1))

    assert failures.score == failures.low == 0
    assert 0.03 < failures.high < 0.06


def test_zero_one_returns_have_the_interval_of_a_share():
    half = one([0.0, 1.0] * 50)

    assert half.score == 0.5
    assert half.low == pytest.approx(0.4, abs=0.02)
    assert half.high == pytest.approx(0.6, abs=0.02)


def test_pseudo_episodes_count_in_size_and_centre_but_not_in_the_score():
    bounded = make.task(bounds=(0, 1))

    measured = estimates([[1.0] * 8], bounded)

    assert (measured.score, measured.centre, measured.size) == (1, 0.9, 10)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(NUMBERS, min_size=1, max_size=12), min_size=1, max_size=6),
    st.sampled_from(["mean", "iqm"]),
    st.sampled_from([None, (-1e6, 1e6), (0, 1)]),
)
@example([[0.0, 0.0, 2e-134]], "mean", None)
def test_a_score_is_never_outside_its_interval(returns, scoring, bounds):
    measured = estimates(returns, make.task(score=scoring, bounds=bounds))

    unknown = np.isnan(measured.low)
    assert ((measured.low <= measured.score) | unknown).all()
    assert ((measured.score <= measured.high) | unknown).all()
    assert (unknown == np.isinf(measured.error)).all()


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
