"""Recorded duels: which count, and what they amount to."""

import pytest

from evaluator.model.config.task import Task
from evaluator.model.records.trace import TraceLeaf
from leaderboard.core.game_standings import MatchCount
from leaderboard.ratings.rated_duels import (
    CountedDuel,
    counting_duels,
    newest_duels,
    rated_totals,
)
from tests.leaderboard import make

GAME = make.game()
ALICE, BOB = make.entry("alice"), make.entry("bob")


def rated(duel, opening=0):
    """Wins of both sides and ties, whoever moved first."""
    totals = rated_totals(duel, opening=opening).rated.values()
    return sum(t.won[0] for t in totals), sum(t.won[1] for t in totals), sum(t.drawn for t in totals)


def test_each_side_has_its_own_count():
    counted = rated_totals(make.duel(ALICE, BOB, "wwldtIOF"))

    assert counted.counts == (
        MatchCount(won=5, drawn=2, lost=1, errors=0, score=4.0),
        MatchCount(won=1, drawn=2, lost=5, errors=3, score=-4.0),
    )
    assert rated(make.duel(ALICE, BOB, "wwldtIOF")) == (5, 1, 2)


def test_the_sides_are_ordered_whoever_is_named_first():
    assert rated_totals(make.duel(BOB, ALICE, "wwll" + "wi")).counts[1].won == 3
    assert rated_totals(make.duel(BOB, ALICE, "wi")).counts[1].errors == 1


def test_where_both_offend_both_lose_and_the_rating_learns_nothing():
    counted = rated_totals(make.duel(ALICE, BOB, "bbdw"))

    assert [(one.won, one.drawn, one.lost, one.errors) for one in counted.counts] == [(1, 1, 2, 2), (0, 1, 3, 2)]
    assert rated(make.duel(ALICE, BOB, "bbdw")) == (1, 0, 1)


def test_the_rating_is_told_who_moved_first():
    assert rated_totals(make.duel(ALICE, BOB, "wlwdwlwb")).rated == {1: ((4, 0), 0), -1: ((0, 2), 1)}
    assert rated_totals(make.duel(ALICE, BOB, "wlwdwlwb"), simultaneous=True).rated == {0: ((4, 2), 1)}


@pytest.mark.parametrize(("module", "first_movers"), [("rps_v2", {0}), ("connect_four_v3", {1, -1})])
def test_in_rock_paper_scissors_nobody_moves_first(module, first_movers):
    game = Task(id="game", game=f"pettingzoo.classic.{module}")
    (counted,) = counting_duels(game, "1", [make.duel(ALICE, BOB, on=game)], official=True)

    assert set(counted.totals.rated) == first_movers


def test_matches_that_begin_alike_count_as_one_in_the_rating_and_each_in_the_table():
    first, second = [1, 2, 3], [4, 5, 6]
    duel = make.duel(ALICE, BOB, "wlwlwl", moves=[first, second] * 3)

    assert rated(duel, opening=2) == pytest.approx((1, 1, 0))
    assert [count.matches for count in rated_totals(duel).counts] == [6, 6]


def test_matches_that_begin_alike_share_their_weight_by_how_they_ended():
    moves = [[1, 2, third] for third in range(8)]

    assert rated(make.duel(ALICE, BOB, "wwwdwlFI", moves=moves), opening=2) == pytest.approx((1.5, 0.25, 0.25))
    assert rated(make.duel(ALICE, BOB, "wbwwlbwb", moves=moves), opening=2) == pytest.approx((1.75, 0.25, 0))


def test_the_same_moves_from_the_other_side_begin_another_match():
    assert rated(make.duel(ALICE, BOB, "wwww", moves=[[1, 2, 3]] * 4), opening=2) == (2, 0, 0)


def test_without_openings_every_match_counts():
    assert rated(make.duel(ALICE, BOB, "wwww", moves=[[1, 2, 3]] * 4)) == (4, 0, 0)


def test_what_is_shorter_than_an_opening_begins_like_no_other():
    assert rated(make.duel(ALICE, BOB, "FFFF", moves=[[1]] * 4), opening=2) == (4, 0, 0)


@pytest.mark.parametrize("moves", [None, TraceLeaf(dtype="u1", shape=(), data="AAAA")])
def test_where_moves_cannot_be_read_every_match_counts(moves):
    duel = make.duel(ALICE, BOB, "wlwl", moves=[[1, 2], [3, 4], [1, 2], [5, 6]]).model_copy(update={"moves": moves})

    assert rated(duel, opening=2) == (2, 2, 0)


def test_what_counts_has_the_present_settings_this_season_and_is_ok():
    other = [
        make.duel(ALICE, BOB, season="0"),
        make.duel(ALICE, BOB, on=make.game("other")),
        make.duel(ALICE, BOB, on=make.game(opening=4)),
        make.duel(ALICE, BOB, ""),
    ]
    own = make.duel(ALICE, BOB)

    assert counting_duels(GAME, "1", [*other, own], official=True) == [CountedDuel(own, opening=2)]


def test_official_is_official_and_jailed():
    own = make.duel(ALICE, BOB)
    loose = [make.duel(ALICE, BOB, sandbox="process"), make.duel(ALICE, BOB, **{"class": "preview"})]

    assert counting_duels(GAME, "1", [*loose, own], official=True) == [CountedDuel(own, opening=2)]
    assert len(counting_duels(GAME, "1", [*loose, own], official=False)) == 3


def test_the_last_duel_of_two_versions_counts():
    early, late = make.duel(ALICE, BOB, at="2026-01-01T00:00:00Z"), make.duel(BOB, ALICE, at="2026-01-02T00:00:00Z")

    counted = newest_duels(counting_duels(GAME, "1", [late, early], official=True))

    assert list(counted.values()) == [CountedDuel(late, opening=2)]


def test_duels_on_the_seeds_of_several_stays_are_pooled():
    """Each stay's newest duel counts, and together they weigh as one in the rating."""
    moves = [[0, 1], [1, 2]]
    first = make.duel(ALICE, BOB, "wl", at="2026-01-01T00:00:00Z", beacon="a", moves=moves)
    other = make.duel(ALICE, BOB, "wd", at="2026-01-02T00:00:00Z", beacon="b", moves=[[0, 1], [5, 6]])
    again = make.duel(ALICE, BOB, "wl", at="2026-01-03T00:00:00Z", beacon="a", moves=moves)
    (pooled,) = newest_duels(counting_duels(GAME, "1", [again, other, first], official=True)).values()

    assert (pooled.duel, pooled.earlier) == (again, (other,))
    assert pooled.totals.counts[0].won == 2
    assert pooled.totals.rated == {1: ((1, 0), 0), -1: ((0, 0.5), 0.5)}
