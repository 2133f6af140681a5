"""Places and rank intervals."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.scoring.intervals import EstimateArrays, estimates, without_any_tails
from leaderboard.scoring.ranking import RankInterval, name_order, rank_intervals
from tests.leaderboard import make


def ranked(*returns, **fields):
    return rank_intervals(estimates(returns, make.task(**fields)))


def test_one_entry_is_the_leader():
    assert ranked([1.0, 2.0]) == [RankInterval(place=1, rank_low=1, rank_high=1, with_leader=True)]


def test_no_entries_have_no_ranks():
    assert ranked() == []


def test_forty_equal_entries_share_the_first_place():
    expected = RankInterval(place=1, rank_low=1, rank_high=40, with_leader=True)

    assert ranked(*[[0.0, 1.0, 0.5, 0.7] * 5] * 40) == [expected] * 40
    assert ranked(*[[1.0] * 20] * 40) == [expected] * 40


def test_constants_stand_in_the_order_of_their_value():
    assert ranked([1.0] * 10, [3.0] * 10, [2.0] * 10, [3.0] * 10) == [
        RankInterval(place=4, rank_low=4, rank_high=4, with_leader=False),
        RankInterval(place=1, rank_low=1, rank_high=2, with_leader=True),
        RankInterval(place=3, rank_low=3, rank_high=3, with_leader=False),
        RankInterval(place=1, rank_low=1, rank_high=2, with_leader=True),
    ]


def test_what_the_data_cannot_separate_shares_a_rank_interval():
    noise = np.random.default_rng(1).normal(size=100)

    assert ranked((noise + 0.1).tolist(), noise.tolist(), (noise - 10).tolist()) == [
        RankInterval(place=1, rank_low=1, rank_high=2, with_leader=True),
        RankInterval(place=2, rank_low=1, rank_high=2, with_leader=True),
        RankInterval(place=3, rank_low=3, rank_high=3, with_leader=False),
    ]


def test_a_rank_interval_holds_the_place_even_where_the_centre_disagrees():
    score, centre, none = np.array([2.0, 1.0]), np.array([1.0, 2.0]), np.zeros(2)
    measured = EstimateArrays(
        score,
        score,
        score,
        centre=centre,
        error=none,
        size=none + 9,
        tries=none + 1,
        without_tails=without_any_tails(centre, none),
    )

    assert [(rank.place, rank.rank_low, rank.rank_high) for rank in rank_intervals(measured)] == [(1, 1, 2), (2, 1, 2)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=6), min_size=1, max_size=20))
def test_ranks_are_coherent(returns):
    ranks = ranked(*returns, bounds=(0, 1))

    assert all(1 <= rank.rank_low <= rank.place <= rank.rank_high <= len(returns) for rank in ranks)
    assert all(rank.with_leader == (rank.rank_low == 1) for rank in ranks)
    assert all(rank.with_leader for rank in ranks if rank.place == 1)


def test_names_are_ordered_without_capitals():
    names = [("Bob", "a"), ("alice", "b"), ("bob", "b"), ("Alice", "a")]

    ordered = sorted((make.entry(login, agent=agent) for login, agent in names), key=name_order)

    assert [(one.login, one.agent) for one in ordered] == [("Alice", "a"), ("alice", "b"), ("Bob", "a"), ("bob", "b")]
