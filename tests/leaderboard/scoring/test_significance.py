"""The test of differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.scoring.intervals import EstimateArrays, critical_value, estimates
from leaderboard.scoring.significance import ENTRIES_AT_ONCE, compare_all
from tests.leaderboard import make


def measured(score, error, size=1000):
    score = np.array(score, dtype=float)
    error = np.broadcast_to(np.array(error, dtype=float), score.shape)
    return EstimateArrays(score, score, score, score, error, np.broadcast_to(np.array(size, dtype=float), score.shape))


def told_apart(a, b, **fields):
    """Whether two results differ significantly."""
    return bool(compare_all(estimates([a, b], make.task(**fields))).better.any())


def naive(given_):
    """(better, worse) by the formula, one pair after another."""
    t, count = critical_value(given_.size), len(given_.score)
    beats = [
        [
            given_.centre[j] - given_.centre[i] > max(t[i], t[j]) * np.sqrt(given_.error[i] ** 2 + given_.error[j] ** 2)
            for j in range(count)
        ]
        for i in range(count)
    ]
    return np.sum(beats, axis=1).tolist(), np.sum(beats, axis=0).tolist()


def test_critical_value_is_students_t():
    assert critical_value(np.array([2.0, 100.0, 1e9])) == pytest.approx([12.706, 1.984, 1.960], abs=1e-3)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(2, 9)), min_size=1, max_size=3 * ENTRIES_AT_ONCE)
)
def test_blocks_count_what_every_pair_says(rows):
    score, error, size = zip(*rows, strict=True)

    compared = compare_all(measured(score, error, size))

    assert (compared.better.tolist(), compared.worse.tolist()) == naive(measured(score, error, size))


def test_overlap_of_two_intervals_is_not_the_test():
    # [−1.96, 1.96] and [1.34, 5.26] overlap, and yet 3.3 > 1.96 · √2.
    assert compare_all(measured([3.3, 0], 1)).better.tolist() == [0, 1]
    assert compare_all(measured([2.7, 0], 1)).better.tolist() == [0, 0]


def test_an_uncertain_best_need_not_beat_whom_the_second_beats():
    compared = compare_all(measured([10, 9, 0], [9, 1, 1]))

    assert compared.better.tolist() == [0, 0, 1]
    assert compared.with_leader.tolist() == [True, True, True]


def test_an_entry_is_with_the_leader_if_one_on_the_first_place_is_not_better():
    assert compare_all(measured([10, 10, 0], [9, 1, 1])).with_leader.tolist() == [True, True, True]
    assert compare_all(measured([10, 10, 0], [1, 1, 1])).with_leader.tolist() == [True, True, False]


def test_different_constants_are_told_apart():
    assert told_apart([1.0] * 10, [2.0] * 10)
    assert not told_apart([2.0] * 10, [2.0] * 10)


def test_a_single_episode_tells_nothing_apart():
    assert not told_apart([1.0], [1e9])
    assert not told_apart([1.0], [1e9] * 100)


def test_successes_of_a_hundred():
    def share(successes):
        return [1.0] * successes + [0.0] * (100 - successes)

    assert not told_apart(share(100), share(100), bounds=(0, 1))
    assert not told_apart(share(100), share(97), bounds=(0, 1))
    assert told_apart(share(100), share(93), bounds=(0, 1))
    assert told_apart(share(100), share(0), bounds=(0, 1))


def test_nobody_compares_with_nobody():
    assert compare_all(measured([], [])).better.tolist() == []


@pytest.mark.parametrize(
    ("draw", "bounds", "scoring"),
    [
        (lambda random, size: random.normal(size=size), None, "mean"),
        (lambda random, size: random.normal(size=size), None, "iqm"),
        (lambda random, size: random.exponential(size=size), None, "mean"),
        (lambda random, size: (random.random(size=size) < 0.9).astype(float), (0, 1), "mean"),
    ],
    ids=["normal", "normal-iqm", "exponential", "success"],
)
@pytest.mark.parametrize("episodes", [5, 100])
def test_equals_are_told_apart_in_at_most_about_5_of_100_pairs(episodes, draw, bounds, scoring):
    returns = draw(np.random.default_rng(7), (300, episodes)).tolist()

    wrong = compare_all(estimates(returns, make.task(bounds=bounds, score=scoring))).better.sum() / (300 * 299 / 2)

    assert wrong < 0.07
