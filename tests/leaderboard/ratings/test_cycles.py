"""Circular triads and the cycle that is named."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from leaderboard.ratings import cycles
from leaderboard.ratings.cycles import CycleOfPlayers, find_cycle


def table(size, *leads):
    wins = np.zeros((size, size))
    for winner, loser, won, lost in leads:
        wins[winner, loser], wins[loser, winner] = won, lost
    return wins


def test_an_order_has_no_cycle():
    wins = table(4, *((a, b, 30, 2) for a, b in itertools.combinations(range(4), 2)))

    assert find_cycle(wins) == CycleOfPlayers(players=(), share=0.0, triads=4)


def test_rock_paper_scissors_is_named_from_the_least():
    assert find_cycle(table(3, (2, 1, 30, 1), (1, 0, 30, 1), (0, 2, 30, 1))) == CycleOfPlayers((0, 2, 1), 1.0, 1)


def test_a_cycle_within_chance_is_counted_and_not_named():
    assert find_cycle(table(3, (0, 1, 6, 5), (1, 2, 6, 5), (2, 0, 6, 5))) == CycleOfPlayers((), 1.0, 1)


@pytest.mark.parametrize(("size", "lost", "named"), [(3, 1, True), (3, 2, False), (4, 0, True), (4, 1, True), (9, 1, False)])
def test_significant_is_the_sign_test_at_a_share_of_five_percent(size, lost, named):
    """A fair coin gives 10 of 10 in 0.1 %, 10 of 11 in 0.6 %, 10 of 12 in 1.9 % of cases; 5 % are shared by all pairs."""
    cycle = [(0, 1, 99, 0), (1, 2, 99, 0), (2, 0, 10, lost)]
    order = [(i, j, 99, 0) for j in range(3, size) for i in range(j)]

    assert find_cycle(table(size, *cycle, *order)).players == ((0, 1, 2) if named else ())


def test_the_sign_test_is_exact():
    wins = table(5, (0, 1, 31, 22), (1, 2, 1, 0), (2, 3, 400, 0), (3, 4, 7, 7))
    chance = cycles._sign_test(wins)

    assert [chance[0, 1], chance[1, 2], chance[2, 3]] == pytest.approx(
        [stats.binomtest(31, 53, alternative="greater").pvalue, 0.5, 0.5**400], rel=1e-9
    )
    assert chance[1, 0] == chance[3, 4] == chance[0, 4] == 1


def test_a_clear_cycle_below_a_clear_leader_is_named_without_the_leader():
    """Each of the three wins 60 matches of 75 against the next."""
    wins = table(9, *((0, i, 60, 15) for i in range(1, 9)), (1, 2, 60, 15), (2, 3, 60, 15), (3, 1, 60, 15))

    assert find_cycle(wins).players == (1, 2, 3)


def test_the_cycle_with_the_strongest_weakest_lead_is_named():
    wins = table(5, (0, 1, 100, 0), (1, 2, 100, 0), (2, 0, 60, 40), (1, 3, 90, 10), (3, 4, 90, 10), (4, 1, 80, 20))

    assert find_cycle(wins).players == (1, 3, 4)


def test_a_longer_cycle_is_named_where_there_is_no_shorter():
    assert find_cycle(table(5, *((i, (i + 1) % 5, 20, 0) for i in range(5)))) == CycleOfPlayers((0, 1, 2, 3, 4), 0.0, 0)


def test_the_shortest_of_the_longer_cycles_is_named():
    five = [(i, (i + 1) % 5, 20, 0) for i in range(5)]
    four = [(5 + i, 5 + (i + 1) % 4, 20, 0) for i in range(4)]

    assert find_cycle(table(9, *five, *four)).players == (5, 6, 7, 8)


def test_who_only_drew_has_met_where_draws_are_given():
    wins = table(3, (0, 1, 20, 0), (1, 2, 20, 0))
    ties = np.zeros((3, 3))
    ties[0, 2] = ties[2, 0] = 20

    assert find_cycle(wins).triads == 0
    assert find_cycle(wins, ties) == CycleOfPlayers((), 0.0, 1)


def test_nobody_and_nothing():
    assert find_cycle(np.zeros((0, 0))) == CycleOfPlayers((), 0.0, 0)
    assert find_cycle(np.zeros((4, 4))) == CycleOfPlayers((), 0.0, 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 9), st.floats(0.2, 1))
def test_counts_are_those_of_looking_at_every_triad(seed, size, density):
    random = np.random.default_rng(seed)
    wins = random.integers(0, 12, (size, size)) * (random.random((size, size)) < density) * 1.0
    np.fill_diagonal(wins, 0)
    ahead, met = wins > wins.T, wins + wins.T > 0
    triads = [t for t in itertools.combinations(range(size), 3) if all(met[p] for p in itertools.combinations(t, 2))]
    circular = sum(
        any(ahead[a, b] and ahead[b, c] and ahead[c, a] for a, b, c in ((x, y, z), (x, z, y))) for x, y, z in triads
    )
    cycle = find_cycle(wins)

    assert cycle.triads == len(triads)
    assert cycle.share == pytest.approx(circular / len(triads) if triads else 0)
    assert all(ahead[a, b] for a, b in zip(cycle.players, cycle.players[1:] + cycle.players[:1], strict=True))
