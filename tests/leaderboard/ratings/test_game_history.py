"""Ratings over time."""

import pytest

from leaderboard.ratings import build_game_standings as module
from leaderboard.ratings.build_game_standings import build_game_standings
from tests.leaderboard import make

ALICE, BOB, CAROL = (make.entry(login) for login in ("alice", "bob", "carol"))


def at(day: int) -> str:
    return f"2026-01-{day:02}T10:00:00Z"


def history(entries, duels):
    standings = build_game_standings(make.game(), entries, duels, official=True, season="1", baselines=("alice/agent",))
    return standings, standings.history


def validated(day, *entries):
    return [make.duel(entry, at=at(day)) for entry in entries]


def test_each_day_with_duels_is_a_moment_and_the_last_is_the_board():
    duels = [
        *validated(1, ALICE, BOB), make.duel(ALICE, BOB, "wlld", at=at(1)),
        *validated(3, CAROL), make.duel(CAROL, ALICE, "wwwl", at=at(4)),
    ]  # fmt: skip

    board, moments = history([ALICE, BOB, CAROL], duels)

    assert [(moment.day, sorted(moment.elo)) for moment in moments] == [
        ("2026-01-01", [ALICE.name, BOB.name]),
        ("2026-01-03", [ALICE.name, BOB.name]),
        ("2026-01-04", [ALICE.name, BOB.name, CAROL.name]),
    ]
    assert moments[-1].elo == {row.entry.name: row.rating.elo for row in board.rows}
    assert [moment.elo[ALICE.name] for moment in moments] == [0, 0, 0]


def test_a_duel_played_again_changes_nothing_before():
    first, again = make.duel(ALICE, BOB, "wwwl", at=at(1)), make.duel(ALICE, BOB, "lllw", at=at(2))

    _, moments = history([ALICE, BOB], [*validated(1, ALICE, BOB), first, again])

    assert moments[0].elo[BOB.name] < 0 < moments[1].elo[BOB.name]


def test_draws_of_several_stays_are_pooled_on_every_day():
    stays = [make.duel(ALICE, BOB, outcomes, beacon=beacon, at=at(day)) for day, beacon, outcomes in
             ((1, "first", "wwwl"), (2, "second", "lllw"), (3, "third", "lldw"))]  # fmt: skip

    for days in (2, 3):
        board, moments = history([ALICE, BOB], [*validated(1, ALICE, BOB), *stays[:days]])
        assert moments[-1].elo == {row.entry.name: row.rating.elo for row in board.rows}
        assert abs(moments[1].elo[BOB.name]) < 1


def test_an_earlier_version_stands_for_its_player_until_the_next_is_validated():
    newer = make.entry("bob", version="2")
    duels = [
        *validated(1, ALICE, BOB, CAROL), make.duel(ALICE, BOB, "wwwl", at=at(1)), make.duel(ALICE, CAROL, "wwwl", at=at(1)),
        *validated(2, newer), make.duel(ALICE, newer, "lllw", at=at(3)),
    ]  # fmt: skip

    _, moments = history([ALICE, newer, CAROL], duels)

    assert [moment.elo.get(BOB.name, 0) for moment in moments[:2]] == [pytest.approx(moments[0].elo[CAROL.name]), 0]
    assert moments[2].elo[BOB.name] > 0


def test_who_left_is_left_out():
    duels = [*validated(1, ALICE, BOB, CAROL), make.duel(ALICE, BOB, "wl", at=at(1)), make.duel(CAROL, BOB, "ww", at=at(2))]

    _, moments = history([ALICE, BOB], duels)

    assert [(moment.day, sorted(moment.elo)) for moment in moments] == [("2026-01-01", [ALICE.name, BOB.name])]


@pytest.mark.parametrize(
    ("limit", "most", "kept"),
    [
        ("MAX_SNAPSHOTS", 2, 2),
        ("MAX_SNAPSHOTS", 5, 5),
        ("MAX_SNAPSHOT_STEPS", 13, 3),
        ("MAX_SNAPSHOT_STEPS", 3, 1),
    ],
)
def test_a_long_season_is_thinned_and_keeps_its_last_day(monkeypatch, limit, most, kept):
    monkeypatch.setattr(module, limit, most)
    duels = [*validated(1, ALICE, BOB), *(make.duel(ALICE, BOB, "wl", at=at(day)) for day in range(1, 21))]

    _, moments = history([ALICE, BOB], duels)

    assert len(moments) == kept
    assert moments[-1].day == "2026-01-20"
    assert kept == 1 or moments[0].day == "2026-01-01"
