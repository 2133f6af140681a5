"""Who led which task when."""

from dataclasses import replace

from leaderboard.core.game_standings import RatingSnapshot
from leaderboard.history import LeaderboardHistory
from tests.leaderboard import make
from tests.leaderboard.pages import game_samples, samples

ONE, TWO = samples.entry("a", "alice"), samples.entry("b", "bob")

EARLIER = replace(TWO, digest=make.digest("earlier"))


def result(who, score: float, day: int):
    at = {"commit": None, "run_url": None, "evaluated_at": f"2026-01-{day:02}T12:00:00Z"}
    return samples.result(who, samples.POLE, (score,), provenance=at)


def leads(rows, results):
    board = samples.board(samples.task_board(samples.POLE, rows))
    changes = LeaderboardHistory(board, tuple(results)).leads()
    return [
        (change.at[:10], change.entry.agent, change.former and change.former.agent, change.is_fall) for change in changes
    ]


def test_a_better_score_takes_the_lead_and_an_equal_one_does_not():
    rows = [samples.row(TWO, samples.POLE, 1, 450.0), samples.row(ONE, samples.POLE, 2, 400.0)]
    results = [result(ONE, 400.0, 1), result(TWO, 450.0, 3)]

    assert leads(rows, results) == [("2026-01-03", "b", "a", False), ("2026-01-01", "a", None, False)]
    equal = [samples.row(ONE, samples.POLE, 1, 400.0), samples.row(TWO, samples.POLE, 1, 400.0)]
    assert leads(equal, [result(ONE, 400.0, 1), result(TWO, 400.0, 3)]) == [("2026-01-01", "a", None, False)]


def test_of_one_second_the_later_change_comes_first():
    rows = [samples.row(ONE, samples.POLE, 1, 450.0), samples.row(TWO, samples.POLE, 2, 400.0)]

    assert leads(rows, [result(ONE, 450.0, 1), result(TWO, 400.0, 1)]) == [
        ("2026-01-01", "a", "b", False), ("2026-01-01", "b", None, False),
    ]  # fmt: skip


def test_a_worse_version_of_the_leader_hands_the_lead_on():
    rows = [samples.row(ONE, samples.POLE, 1, 400.0), samples.row(TWO, samples.POLE, 2, 300.0)]
    results = [result(ONE, 400.0, 2), result(EARLIER, 450.0, 1), result(TWO, 300.0, 4)]

    assert leads(rows, results)[0] == ("2026-01-04", "a", "b", True)


def test_in_games_the_best_rating_of_a_day_leads():
    game = game_samples.full().games[0]
    first, second = game.rows[0].entry, game.rows[1].entry
    days = (
        RatingSnapshot(day="2026-01-01", elo={first.name: 10.0}),
        RatingSnapshot(day="2026-01-02", elo={first.name: 10.0, second.name: 10.0}),
        RatingSnapshot(day="2026-01-03", elo={first.name: 10.0, second.name: 30.0}),
    )
    board = replace(samples.empty(), games=(replace(game, history=days),))
    changes = LeaderboardHistory(board, ()).leads()

    assert [(change.at[:10], change.entry.name, change.score) for change in changes] == [
        ("2026-01-03", second.name, 30.0),
        ("2026-01-01", first.name, 10.0),
    ]
