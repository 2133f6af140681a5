"""The test of differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluator.model.config.metric import Metric
from leaderboard.scoring.intervals import EstimateArrays, critical_value, estimates, oriented, without_any_tails
from leaderboard.scoring.metrics import EpisodeMetric
from leaderboard.scoring.significance import COMPARED_ENTRIES_AT_ONCE, compare_all
from tests.leaderboard import make


def measured(score, error, size=1000, tries=1):
    shape = np.shape(score)
    error, size, tries = (np.broadcast_to(np.array(column, dtype=float), shape) for column in (error, size, tries))
    score = np.array(score, dtype=float)
    return EstimateArrays(score, score, score, score, error, size, tries, without_any_tails(score, error))


def told_apart(a, b, **fields):
    """Whether two results differ significantly."""
    return bool(compare_all(estimates([a, b], make.task(**fields))).better.any())


def naive(given_):
    """(better, worse) by Holm's procedure on p-values, one entry after another."""
    count, known = len(given_.score), np.isfinite(given_.error)
    counts = np.zeros((2, count), dtype=int)
    for i in np.flatnonzero(known):
        others = [j for j in np.flatnonzero(known) if j != i]
        chances = []
        for j in others:
            lead, error = given_.centre[i] - given_.centre[j], np.hypot(given_.error[i], given_.error[j])
            t = abs(lead) / error if error else np.inf if lead else 0.0
            ahead = i if lead > 0 else j
            tries = max(given_.tries[ahead] * (given_.tries[ahead] - 1), 1)
            chances.append(2 * stats.t.sf(t, min(given_.size[i], given_.size[j]) - 1) * tries)
        for rank, position in enumerate(np.argsort(chances, kind="stable")):
            if chances[position] >= 0.05 / (len(others) - rank):
                break
            counts[int(given_.centre[others[position]] < given_.centre[i]), i] += 1
    return counts.tolist()


def test_critical_value_is_students_t():
    assert critical_value(np.array([2.0, 100.0, 1e9]), np.ones(3)) == pytest.approx([12.706, 1.984, 1.960], abs=1e-3)
    assert critical_value(np.array([100.0]), np.array([10.0])) == pytest.approx([stats.t.ppf(1 - 0.025 / 90, 99)])


ROWS = st.tuples(st.integers(0, 30), st.sampled_from([0, 1, 2, 3, np.inf]), st.integers(2, 9), st.integers(1, 4))


@settings(deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=3 * COMPARED_ENTRIES_AT_ONCE))
def test_blocks_tell_apart_what_holms_procedure_does(rows):
    given_ = measured(*zip(*rows, strict=True))

    compared = compare_all(given_)

    assert [compared.better.tolist(), compared.worse.tolist()] == naive(given_)


def test_a_large_field_of_one_size_agrees_with_holms_procedure():
    random = np.random.default_rng(1)
    given_ = measured(random.normal(scale=3, size=80), random.uniform(0.5, 1.5, size=80), 100)

    compared = compare_all(given_)

    assert [compared.better.tolist(), compared.worse.tolist()] == naive(given_)
    assert 0 < compared.better.sum() < 80 * 79 / 2


def test_overlap_of_two_intervals_is_not_the_test():
    # [−1.96, 1.96] and [1.34, 5.26] overlap, and yet 3.3 > 1.96 · √2.
    assert compare_all(measured([3.3, 0], 1)).better.tolist() == [0, 1]
    assert compare_all(measured([2.7, 0], 1)).better.tolist() == [0, 0]


def test_each_family_is_that_of_one_entry():
    # 3.4 standard errors exceed the critical value for two pairs (3.18), 3.0 only that for one (2.77).
    assert compare_all(measured([3.4, 0, 0.1], 1)).better.tolist() == [0, 1, 1]
    assert compare_all(measured([3.0, 0, 0.1], 1)).better.tolist() == [0, 0, 0]
    assert compare_all(measured([3.0, 0], 1)).better.tolist() == [0, 1]


def test_an_uncertain_best_need_not_beat_whom_the_second_beats():
    assert compare_all(measured([10, 9, 0], [9, 1, 1])).better.tolist() == [0, 0, 1]


def test_a_lead_counts_at_the_level_of_the_tries_of_whoever_is_ahead():
    assert compare_all(measured([3.3, 0], 1, tries=[5, 1])).better.tolist() == [0, 0]
    assert compare_all(measured([3.3, 0], 1, tries=[1, 5])).better.tolist() == [0, 1]
    assert compare_all(measured([4.5, 0], 1, tries=[5, 1])).better.tolist() == [0, 1]


@pytest.mark.attack(
    "episodes_that_are_thrown_away", family="cheating", outcome="behind those that it is behind without them",
    tries="Plays a few episodes as badly as it can, so that its error is too large to be told apart from the leader.",
)  # fmt: skip
@pytest.mark.parametrize("thrown_away", [1, 2, 5, 20])
@pytest.mark.parametrize("loss", [2e4, 1e9])
@pytest.mark.parametrize("lower_is_better", [False, True])
def test_who_throws_episodes_away_is_not_tied_with_the_leader(thrown_away, loss, lower_is_better):
    """On Lunar Lander, whose returns have no bounds, one spin in the air cost 22,000, and the leader was no longer alone."""
    drawn = np.random.default_rng(1).normal(scale=30, size=(10, 100)) + np.linspace(280, -40, 10)[:, np.newaxis]
    drawn[-1, :thrown_away] = -loss
    direction = "lower" if lower_is_better else "higher"
    metric = Metric(name="Return", kind="mean_return", direction=direction)
    given_ = oriented(estimates((metric.sign * drawn).tolist(), make.task(bounds=None)), metric)

    compared = compare_all(given_)

    assert (compared.better[-1], compared.worse[0]) == (9, 9)


@pytest.mark.attack(
    "more_episodes_thrown_away_than_are_cut_off", family="cheating", outcome="behind those that it is behind without them",
    tries="Plays so many episodes badly that they are left when a quarter is cut off or raised, and has a huge error.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("score", "episodes", "thrown_away"),
    [
        *((score, 100, thrown) for score in ("iqm", "median") for thrown in (26, 33, 40, 47)),
        ("mean", 20, 6),
        ("mean", 30, 9),
        *(("mean", 10, thrown) for thrown in (6, 7)),
        *(("iqm", 20, thrown) for thrown in (11, 12, 14)),
        *(("iqm", 48, thrown) for thrown in (25, 30)),
        ("median", 20, 12),
    ],
)
@pytest.mark.parametrize("lower_is_better", [False, True])
def test_who_throws_many_episodes_away_is_not_tied_with_the_leader(score, episodes, thrown_away, lower_is_better):
    drawn = np.random.default_rng(1).normal(scale=30, size=(40, episodes))
    drawn += np.linspace(280, -40, 40)[:, np.newaxis]
    drawn[-1, :thrown_away] = -1e9
    metric = Metric(name="Return", kind=f"{score}_return", direction="lower" if lower_is_better else "higher")
    how = EpisodeMetric(id="task", score=score, bounds=None)

    compared = compare_all(oriented(estimates((metric.sign * drawn).tolist(), how), metric))

    assert compared.better[-1] > 15


@pytest.mark.attack(
    "thrown_away_beside_crashes", family="cheating", outcome="behind those that it is behind without them",
    tries="Is behind only by the episodes in which it crashes, and throws some of these away, so that all are raised.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("score", "episodes", "crashes", "thrown_away"),
    [
        *(("mean", 100, 9, thrown) for thrown in (1, 8)),
        *(("mean", 100, 20, thrown) for thrown in (1, 3, 15)),
        *(("mean", 48, 12, thrown) for thrown in (1, 4)),
        *(("iqm", 100, 40, thrown) for thrown in (26, 33)),
        *(("median", 100, 60, thrown) for thrown in (51, 56)),
    ],
)
@pytest.mark.parametrize("loss", [2000, 1e9])
@pytest.mark.parametrize("lower_is_better", [False, True])
def test_who_throws_some_of_its_bad_episodes_away_is_not_tied_with_the_leader(
    score, episodes, crashes, thrown_away, loss, lower_is_better
):
    drawn = np.random.default_rng(5).normal([[280], [280], [200]], 20, (3, episodes))
    drawn[1, :crashes] -= 380
    drawn[1, :thrown_away] = -loss
    metric = Metric(name="Return", kind=f"{score}_return", direction="lower" if lower_is_better else "higher")
    how = EpisodeMetric(id="task", score=score, bounds=None)

    compared = compare_all(oriented(estimates((metric.sign * drawn).tolist(), how), metric))

    assert compared.better[1] > 0


@pytest.mark.parametrize(("episodes", "crashes", "tries"), [(100, 16, 1), (100, 16, 5), (50, 24, 20), (30, 10, 1)])
@pytest.mark.parametrize("ratio", [1.0, 2.0, 30.0])
def test_no_number_of_lost_episodes_ties_who_crashes_with_the_leader(episodes, crashes, tries, ratio):
    """Raised were 1, 2, 4, 8 … only, by one level: nine lost episodes of sixteen crashes looked like one great risk."""
    drawn = np.random.default_rng(5).normal(280, 20, (2, episodes))
    drawn[1, :crashes] -= 380
    boards = [drawn] + [drawn.copy() for _ in range(crashes)]
    for number, board in enumerate(boards):
        board[1, :number] = -1e4 * ratio ** np.arange(number)
    how = EpisodeMetric(id="task", score="mean", bounds=None)

    assert [compare_all(estimates(board.tolist(), how, [tries, 1])).better[1] for board in boards] == [1] * len(boards)


@pytest.mark.parametrize(("score", "episodes", "thrown_away", "tries"), [("iqm", 64, 33, 16), ("mean", 64, 17, 75)])
def test_many_tries_of_the_leader_do_not_tie_it_with_who_throws_episodes_away(score, episodes, thrown_away, tries):
    drawn = np.random.default_rng(1).normal([[280], [-40]], 30, size=(2, episodes))
    drawn[-1, :thrown_away] = -1e9
    how = EpisodeMetric(id="task", score=score, bounds=None)

    compared = compare_all(estimates(drawn.tolist(), how, [tries, 1]))

    assert compared.better[-1] == 1


def test_returns_that_are_good_by_luck_make_nobody_worse():
    honest = np.random.default_rng(1).normal(size=(2, 100))
    honest[0, :2] += 1e4

    assert compare_all(estimates(honest.tolist(), make.task(bounds=None))).better.tolist() == [0, 0]


def test_a_few_equal_returns_are_not_certainty():
    assert not told_apart([9.0, 9.0], [9.0 - 1e-9] * 2)
    assert not told_apart([9.0] * 5, [1.0] * 5)


@pytest.mark.parametrize("episodes", [4, 8, 9])
def test_bounds_do_not_make_a_few_equal_returns_certainty(episodes: int):
    assert not told_apart([9.0] * episodes, [1.0] * episodes, bounds=(0, 10), score="iqm")


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
def test_of_two_equals_at_most_about_5_of_100_are_told_apart(episodes, draw, bounds, scoring):
    returns, task = draw(np.random.default_rng(7), (600, 2, episodes)), make.task(bounds=bounds, score=scoring)

    wrong = [compare_all(estimates(pair.tolist(), task)).better.any() for pair in returns]

    assert np.mean(wrong) < 0.07
