"""What ratings, rank intervals and cycles promise, in simulated boards; `bench/rating_coverage.py` has the whole table."""

import numpy as np
import pytest
from scipy import stats

from bench.rating_coverage import STRENGTHS, advantage_rows, cycle_row, equal_rows, lot_rows, simulate_boards
from leaderboard.ratings.fit_ratings import fit_ratings, rating_order


@pytest.mark.parametrize("advantage", [0, 400])
def test_ratings_hold_whatever_moving_first_is_worth(advantage):
    """Measured with 300 boards, seven players each: 94 to 96 %; without the term 5 %, and a bias of 330."""
    interval, bias, of_the_advantage = advantage_rows(advantage, 200)

    assert interval.measured >= 92
    assert bias.measured <= 15
    assert of_the_advantage.measured >= 91


def order_of(fit, tries):
    return rating_order(fit.theta, fit.covariance, np.array(tries, np.intp))


def test_without_an_advantage_the_term_hardly_changes_ratings():
    for table in simulate_boards(STRENGTHS, 0, 20, seed=5):
        simultaneous = table.copy()
        simultaneous[:, 5] = 0
        with_term, without = (fit_ratings(rows, len(STRENGTHS), 0) for rows in (table, simultaneous))

        assert np.abs(with_term.elo - without.elo).max() < 5
        assert with_term.high - with_term.low == pytest.approx(without.high - without.low, rel=0.02)


@pytest.mark.parametrize("players", [8, 20])
def test_rank_intervals_of_equal_players_hold_every_place(players):
    """One comparison in twenty by chance would leave 77 % and 61 %."""
    interval, mark = equal_rows(players, 150)

    assert interval.measured >= 92
    assert mark.measured >= 94


def test_rank_intervals_hold_every_place_where_a_player_meets_only_some():
    """Opponents chosen by ratings, half of them, would leave 83 %: who was lucky at first would meet others who were."""
    interval, mark = lot_rows(60)

    assert interval.measured >= 92
    assert mark.measured >= 94


def test_equal_players_rarely_form_a_cycle():
    """A test of each lead alone names one in 8 % of boards."""
    assert cycle_row(300).measured <= 2


def test_the_leaders_mark_is_a_rank_interval_that_begins_at_one():
    for table in simulate_boards(np.linspace(0, 120, 8), 50, 30, seed=8):
        order = order_of(fit_ratings(table, 8, 0), [1] * 8)

        assert (order.with_leader == (order.rank_low == 1)).all()


def test_a_player_chosen_among_many_versions_needs_a_clearer_lead():
    tables = list(simulate_boards(np.linspace(0, 150, 8), 0, 40, seed=9))
    once = [fit_ratings(table, 8, 0) for table in tables]
    often = [fit_ratings(table, 8, 0, tries=[1] * 7 + [20]) for table in tables]

    def beaten(fits, tries):
        return sum(8 - int(order_of(fit, tries).rank_high[7]) for fit in fits)

    def beating(fits, tries):
        return sum(int(order_of(fit, tries).rank_low[7]) - 1 for fit in fits)

    assert beaten(often, [1] * 7 + [20]) < 0.9 * beaten(once, [1] * 8)
    assert beating(often, [1] * 7 + [20]) == beating(once, [1] * 8)
    for one, many in zip(once, often, strict=True):
        width = (many.high - many.low)[1:] / (one.high - one.low)[1:]
        assert width == pytest.approx([1] * 6 + [stats.norm.isf(0.025 / (20 * 19)) / stats.norm.isf(0.025)], rel=1e-3)
