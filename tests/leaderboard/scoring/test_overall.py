"""The overall board."""

from dataclasses import replace

import numpy as np
import pytest

from leaderboard.build import build_standings
from leaderboard.scoring.score_all import CHUNK_ENTRIES
from tests.leaderboard import make

FIRST, SECOND = make.task("first", anchors=(10, 20)), make.task("second", anchors=(0, 100), bounds=(0, 100))


def overall(tasks, results):
    """The overall board of entries that have these (entry, task, returns)."""
    entries = {entry.login: entry for entry, *_ in results}.values()
    recorded = [make.result(entry, returns, on=task) for entry, task, returns in results]
    return build_standings(make.challenge(*tasks), entries, recorded, official=True).overall


def test_random_is_0_and_reference_is_1():
    random, reference = make.entry("random"), make.entry("reference")
    rows = overall(
        [FIRST, SECOND],
        [
            (random, FIRST, [10.0] * 4),
            (random, SECOND, [0.0] * 4),
            (reference, FIRST, [20.0] * 4),
            (reference, SECOND, [100.0] * 4),
        ],
    )

    assert [(row.entry.login, row.estimate.score, row.place) for row in rows] == [("reference", 1, 1), ("random", 0, 2)]
    assert rows[0].normalised == {"first": 1, "second": 1}


def test_scores_are_clipped():
    high, low = make.entry("high"), make.entry("low")
    rows = overall([FIRST], [(high, FIRST, [1e6] * 4), (low, FIRST, [-1e6] * 4)])

    assert [(row.estimate.score, row.estimate.low, row.estimate.high) for row in rows] == [(2, 2, 2), (-1, -1, -1)]


def test_lower_is_better_where_the_reference_is_below_random():
    costs = make.task(anchors=(100, 50))
    rows = overall([costs], [(make.entry("a"), costs, [75.0] * 4)])

    assert rows[0].estimate.score == 0.5


def test_a_task_not_entered_or_failed_counts_0():
    one, failed = make.entry("one", tasks=("first",)), make.entry("failed")
    rows = overall([FIRST, SECOND], [(one, FIRST, [20.0] * 4), (failed, FIRST, [15.0] * 4), (failed, SECOND, [])])

    assert [row.estimate.score for row in rows] == [0.5, 0.25]
    assert [row.normalised for row in rows] == [{"first": 1, "second": None}, {"first": 0.5, "second": None}]


def test_a_task_without_both_anchors_is_left_out():
    bare = make.task("bare", anchors=None)
    a, b = make.entry("a"), make.entry("b")
    rows = overall([FIRST, bare], [(a, FIRST, [20.0] * 4), (a, bare, [7.0] * 4), (b, bare, [9.0] * 4)])

    assert [(row.entry.login, row.estimate.score, row.normalised) for row in rows] == [("a", 1, {"first": 1})]


def test_without_anchors_there_is_no_overall_board():
    bare = make.task("bare", anchors=None)

    assert overall([bare], [(make.entry("a"), bare, [7.0] * 4)]) == ()


def test_an_entry_without_a_score_is_not_on_it():
    assert overall([FIRST], [(make.entry("a"), FIRST, [])]) == ()


def test_iqm_is_shown_and_does_not_rank():
    tasks = [make.task(f"task-{i}") for i in range(8)]
    steady, gaps = make.entry("steady"), make.entry("gaps")
    rows = overall(
        tasks,
        [(steady, task, [0.6] * 4) for task in tasks]
        + [(gaps, task, [0.0 if i < 2 else 0.7] * 4) for i, task in enumerate(tasks)],
    )

    assert [row.entry.login for row in rows] == ["steady", "gaps"]
    assert [row.iqm for row in rows] == pytest.approx([0.6, 0.7])


def test_interval_is_of_episodes_resampled_within_tasks():
    random = np.random.default_rng(1)
    tasks = [make.task(f"task-{i}") for i in range(4)]
    returns = random.normal(0.5, 0.2, size=(4, 100))
    rows = overall(tasks, [(make.entry("a"), task, own.tolist()) for task, own in zip(tasks, returns, strict=True)])

    half = 1.96 * np.sqrt((returns.var(axis=1) / 100).sum()) / 4
    estimate = rows[0].estimate
    assert estimate.score == pytest.approx(returns.mean())
    assert estimate.high - estimate.score == pytest.approx(half, rel=0.1)
    assert estimate.score - estimate.low == pytest.approx(half, rel=0.1)


def test_overall_ranks_have_intervals_too():
    random = np.random.default_rng(2)
    results = [
        (make.entry(login), task, random.normal(mean, 0.3, size=50).tolist())
        for login, mean in (("a", 0.9), ("b", 0.9), ("c", 0.1))
        for task in (make.task("x"), make.task("y"))
    ]
    rows = overall([make.task("x"), make.task("y")], results)

    assert [(row.place, row.rank_low, row.rank_high, row.with_leader) for row in rows] == [
        (1, 1, 2, True),
        (2, 1, 2, True),
        (3, 3, 3, False),
    ]


def test_one_task_of_a_single_episode_leaves_the_overall_score_uncertain():
    short = make.task("short", episodes=1)
    results = [
        (make.entry(login), task, [value] * (1 if task is short else 50))
        for login, value in (("a", 1.0), ("b", 0.0))
        for task in (make.task("long"), short)
    ]

    assert [row.with_leader for row in overall([make.task("long"), short], results)] == [True, True]


def test_equals_stand_in_the_order_they_were_complete():
    late, early, same = make.entry("a"), make.entry("b"), make.entry("c")
    times = {"a": "2026-03-01T00:00:00Z", "b": "2026-01-01T00:00:00Z", "c": "2026-01-01T00:00:00Z"}
    entries = [late, same, early]
    recorded = [make.result(entry, [1.0, 2.0], at=times[entry.login]) for entry in entries]

    rows = build_standings(make.challenge(), entries, recorded, official=True).overall

    assert [(row.entry.login, row.place) for row in rows] == [("b", 1), ("c", 1), ("a", 1)]


def test_an_overall_interval_is_the_same_whatever_else_is_on_the_board():
    returns = np.random.default_rng(3).normal(15, 3, size=(CHUNK_ENTRIES + 3, 5)).tolist()
    entries = [replace(make.entry("first"), login=f"user{i}") for i in range(len(returns))]
    blank = make.result(make.entry("first"), [0.0] * 5, on=FIRST)
    recorded = [
        blank.model_copy(update={"login": entry.login, "returns": tuple(own)})
        for entry, own in zip(entries, returns, strict=True)
    ]
    rules = make.challenge(FIRST, SECOND)
    together = {row.entry.login: row.estimate for row in build_standings(rules, entries, recorded, official=True).overall}

    for i in (0, CHUNK_ENTRIES - 1, CHUNK_ENTRIES, len(entries) - 1):
        (alone,) = build_standings(rules, entries[i : i + 1], recorded[i : i + 1], official=True).overall
        assert together[alone.entry.login] == alone.estimate
