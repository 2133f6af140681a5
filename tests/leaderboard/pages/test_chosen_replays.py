"""Which episodes are shown, and how a page holds one."""

from dataclasses import replace

import pytest

from evaluator.model.config.metric import Metric
from evaluator.model.config.task import Task
from leaderboard.core.entry import Estimate
from leaderboard.core.standings import Standings, TaskStandings
from leaderboard.pages.episode_replays import (
    chosen_episodes,
    replay_figure,
    replay_thumbnail,
    shown_replays,
)
from leaderboard.site_context import REPLAYED_ENTRIES, EpisodeReplay
from tests.leaderboard.pages import samples

EPISODE = EpisodeReplay(
    which="median", number=4, total=-3.25, length=1, file="episodes/ab-median.webp", columns=2, width=60, height=40,
    steps=(0, 1, 2),
)  # fmt: skip


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        ((3.0, 1.0, 2.0, 5.0, 4.0), (("best", 3), ("median", 0), ("worst", 1))),
        ((7.0, 7.0, 7.0, 7.0), (("best", 0), ("median", 1), ("worst", 3))),
        ((1.0, 2.0), (("best", 1), ("worst", 0))),
        ((1.0,), (("best", 0),)),
        ((0.0, 1.0, 1.0, 1.0), (("best", 1), ("median", 2), ("worst", 0))),
    ],
)
def test_best_median_and_worst_are_three_episodes_where_there_are_three(
    returns: tuple[float, ...], expected: object
) -> None:
    assert chosen_episodes(samples.result(samples.entry(), samples.POLE, returns), samples.POLE) == expected


def test_where_lower_is_better_the_best_is_the_lowest() -> None:
    metric = Metric(name="cost", kind="mean_return", direction="lower")
    task = Task(id="t", env="CartPole-v1", metrics=(metric,))

    assert chosen_episodes(samples.result(samples.entry(), task, (1.0, 2.0)), task) == (("best", 0), ("worst", 1))


def test_of_a_script_only_what_was_played_to_its_end_is_shown() -> None:
    script = {"returns": [9.0, 1.0, 2.0], "lengths": [5, 5, 5], "unfinished": [2]}
    result = samples.result(samples.entry(), samples.POLE, (9.0, 1.0, 0.0, 0.0), script=script)

    assert chosen_episodes(result, samples.POLE) == (("best", 0), ("worst", 1))
    nothing = {"returns": [0.0], "lengths": [5], "unfinished": [0]}
    assert chosen_episodes(samples.result(samples.entry(), samples.POLE, (0.0,), script=nothing), samples.POLE) == ()


def test_the_best_ten_are_shown_and_the_champion_in_any_case() -> None:
    aside = [
        samples.row(samples.entry(f"b{i}", baseline=True), samples.POLE, i, 500.0 - i)
        for i in range(1, REPLAYED_ENTRIES + 2)
    ]
    real = samples.row(samples.entry("real"), samples.POLE, 20, 100.0)
    missing = replace(real, estimate=Estimate(score=float("nan"), low=float("nan"), high=float("nan")))
    board = TaskStandings(task=samples.POLE, rows=(*aside, real, missing), failures=(), waiting=())
    table = Standings(challenge=samples.challenge(), official=True, overall=(), tasks=(board,))

    assert [row for _, row in shown_replays(table)] == [*aside[:REPLAYED_ENTRIES], real]
    assert list(shown_replays(replace(table, tasks=(replace(board, rows=()),)))) == []


def test_a_figure_says_what_it_shows_and_holds_what_the_script_needs() -> None:
    text = replay_figure(EPISODE, "../../", 1)

    assert 'data-columns="2" data-frames="3" data-width="60" data-height="40" data-steps="0,1,2"' in text
    assert (
        '<img src="../../episodes/ab-median.webp" alt="a median episode: its first picture" width="120" height="80"' in text
    )
    assert "<b>Median episode</b> <span>return −3.2, 1 step</span>" in text
    assert "return −3.25," in replay_figure(EPISODE, "./")


def test_a_thumbnail_moves_by_columns_and_rows() -> None:
    text = replay_thumbnail(EPISODE, "./")

    assert text.startswith('<span class="pr-screen pr-moving" style="--pr-columns:2;--pr-rows:2;aspect-ratio:60/40">')
    assert text.count("<span") == text.count("</span>") == 2
