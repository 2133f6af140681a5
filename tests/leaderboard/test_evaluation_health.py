"""What the home page says of the machine."""

from leaderboard.evaluation_health import health
from tests.leaderboard.pages import game_samples, samples


def test_an_empty_board_has_nothing_to_say():
    report = health(samples.empty())

    assert (report.recorded, report.last_at, report.last_run) == (0, None, None)
    assert (report.waiting_count, report.failure_count, report.our_failure_count) == (0, 0, 0)


def test_failures_are_told_by_verdict_and_ours_apart():
    report = health(samples.failed())

    assert report.failures == {
        "crashed": 1, "invalid": 1, "out_of_memory": 1, "output_limit": 1, "protocol_error": 1, "timeout": 1,
    }  # fmt: skip
    assert report.our_failures == {"CartPole-v1": 1}
    assert report.waiting == {"CartPole-v1": 1}
    assert (report.waiting_count, report.failure_count, report.our_failure_count) == (1, 6, 1)


def test_the_last_run_is_the_newest_of_everything_recorded():
    who = samples.entry()
    later = {"provenance": {"commit": None, "run_url": None, "evaluated_at": "2026-03-01T00:00:00Z"}}
    results = [samples.result(who, samples.POLE, (1.0,)), samples.result(who, samples.CAR, (1.0,), **later)]
    report = health(samples.one(), results)

    assert (report.recorded, report.last_at, report.last_run) == (2, "2026-03-01T00:00:00Z", None)


def test_games_count_their_duels_once_and_whom_they_refuse():
    board = game_samples.full().games[0]
    report = health(game_samples.of(board))

    assert report.recorded == len(board.crosstable) // 2 + len(board.failures)
    assert report.failures == {"refused": 1}
    assert report.waiting == {"connect_four": 1}
