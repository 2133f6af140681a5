"""The bootstrap as a matrix product."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leaderboard.scoring import bootstrap
from tests.leaderboard import make


def drawn(returns, task):
    """Resampled scores of every result, in the order given."""
    scores = np.full((len(returns), bootstrap.RESAMPLES), np.nan)
    for rows, block in bootstrap.resampled_scores(returns, task):
        scores[rows] = block
    return scores


def test_a_stream_is_a_function_of_its_content():
    first, again, other = (bootstrap.random_stream("a", n).random(3).tolist() for n in (1, 1, 2))

    assert first == again
    assert first != other


@pytest.mark.parametrize("scoring", ["mean", "iqm"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 102])
def test_every_resample_has_all_of_the_weight(size, scoring):
    table = bootstrap.resample_counts(size, scoring, bootstrap.random_stream("test"))

    assert table.shape == (size, bootstrap.RESAMPLES)
    assert (table >= 0).all()
    assert (table.sum(axis=0) == size - 2 * bootstrap.trim_count(size, scoring)).all()


@pytest.mark.parametrize("size", [1, 3, 4, 7, 30])
def test_the_product_is_the_trimmed_mean_of_each_resample(size):
    values = np.sort(np.random.default_rng(1).normal(size=size))
    copies = bootstrap.resample_counts(size, "mean", bootstrap.random_stream("test")).astype(int)
    table, kept = (
        bootstrap.resample_counts(size, "iqm", bootstrap.random_stream("test")),
        size - 2 * bootstrap.trim_count(size, "iqm"),
    )

    (means,) = bootstrap._means(values[np.newaxis], table, kept)

    resamples = np.array([np.repeat(values, column) for column in copies.T])
    assert means == pytest.approx(stats.trim_mean(resamples, 0.25, axis=1), abs=1e-13)


def test_pseudo_episodes_stand_at_the_bounds():
    assert bootstrap.sorted_values([[2, 1]], (0, 5)).tolist() == [[0, 1, 2, 5]]
    assert bootstrap.sorted_values([[2, 1]], None).tolist() == [[1, 2]]


def test_results_of_any_lengths_are_resampled():
    scores = drawn([[1.0, 2.0], [5.0], [3.0, 4.0], [0.0] * 200], make.task())

    assert not np.isnan(scores).any()
    assert (scores[1] == 5).all()
    assert set(scores[0]) == {1, 1.5, 2}
    assert set(scores[2]) == {3, 3.5, 4}


def test_nothing_is_resampled_of_nothing():
    assert drawn([], make.task()).shape == (0, bootstrap.RESAMPLES)


def test_resamples_depend_on_nothing_else_on_the_board():
    task = make.task(bounds=(-10, 10))
    returns = np.random.default_rng(1).normal(size=(3 * bootstrap.RESULTS_AT_ONCE + 5, 37)).tolist()
    together = drawn(returns, task)

    for i in (0, 1, bootstrap.RESULTS_AT_ONCE - 1, bootstrap.RESULTS_AT_ONCE, len(returns) - 1):
        assert (drawn([returns[i]], task) == together[i]).all()


def test_tasks_are_resampled_apart():
    returns = [np.arange(50.0).tolist()]

    assert (drawn(returns, make.task("a")) != drawn(returns, make.task("b"))).any()


@given(
    st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=60),
    st.sampled_from(["mean", "iqm"]),
)
def test_the_order_of_addition_does_not_matter(values, scoring):
    ordered = np.sort(values)[np.newaxis]
    size, kept = len(values), len(values) - 2 * bootstrap.trim_count(len(values), scoring)
    table = bootstrap.resample_counts(size, scoring, bootstrap.random_stream("test"))
    steps = []

    class Recorded(np.ndarray):
        def __matmul__(self, other):
            steps.append(np.asarray(self))
            return np.asarray(self) @ np.asarray(other)

    means = bootstrap._means(ordered.view(Recorded), table, kept)

    ((whole,),) = steps
    sums = [sum(int(step) * int(count) for step, count in zip(whole, column, strict=True)) for column in table.T[:5]]
    assert all(abs(one) < 1 << bootstrap.FLOAT_BITS for one in sums)
    assert (whole @ table)[:5].tolist() == sums
    assert np.asarray(means)[0] == pytest.approx(
        ordered[0] @ table / kept, rel=1e-9, abs=1e-290 + 1e-12 * np.abs(ordered).max()
    )
