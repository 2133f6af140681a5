"""Metrics, directions and ties: what ranks, which way, and what happens to what is missing."""

import dataclasses
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from evaluator.model.config.metric import Direction, Metric
from leaderboard.api.rank_json import standings_document
from leaderboard.build_standings import build_standings
from leaderboard.scoring.intervals import result_value
from leaderboard.scoring.metrics import metrics_of, oriented_value, ranking_metric
from tests.leaderboard import make

ROOT = Path(__file__).parents[3]
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
ALICE, BOB, CAROL = (make.entry(login) for login in ("alice", "bob", "carol"))
OWN = "tests.evaluator.own_metrics:first"


def metric(name="Score", kind="mean_return", direction="higher", **fields):
    return Metric(name=name, kind=kind, direction=direction, **fields)


def rows(task, *results):
    """The rows of a board of one task; results are (entry, returns, fields)."""
    made = [make.result(who, returns, on=task, **fields) for who, returns, fields in results]
    return build_standings(make.challenge(task), [who for who, _, _ in results], made, official=True).tasks[0].rows


def places(ranked):
    return [(row.entry.login, row.place) for row in ranked]


def noise(mean, count=100, seed=1):
    return (mean + np.random.default_rng(seed).normal(size=count)).tolist()


def test_lower_is_better_ranks_the_lowest_first_with_leader_and_rank_intervals():
    task = make.task(anchors=None, metrics=(metric("Cost", direction="lower"),))
    ranked = rows(task, (ALICE, noise(50), {}), (BOB, noise(-3), {}), (CAROL, noise(-3, seed=2), {}))

    assert {row.entry.login for row in ranked[:2]} == {"bob", "carol"}
    assert [(row.place, row.rank_low, row.rank_high, row.with_leader) for row in ranked] == [
        (1, 1, 2, True), (2, 1, 2, True), (3, 3, 3, False),
    ]  # fmt: skip
    best = ranked[0].estimate
    assert best.low < best.score < best.high < -2


def test_a_mirrored_board_has_the_same_places_and_rank_intervals():
    random = np.random.default_rng(3)
    returns = [random.normal(random.uniform(-1, 1), 2, size=30).tolist() for _ in range(25)]
    entries = [make.entry(f"user{i}") for i in range(25)]
    higher, lower = (make.task(anchors=None, metrics=(metric(direction=way),)) for way in ("higher", "lower"))

    one = rows(higher, *((who, own, {}) for who, own in zip(entries, returns, strict=True)))
    other = rows(lower, *((who, [-x for x in own], {}) for who, own in zip(entries, returns, strict=True)))

    assert places(one) == places(other)
    assert [(r.rank_low, r.rank_high, r.with_leader) for r in one] == [
        (r.rank_low, r.rank_high, r.with_leader) for r in other
    ]


@pytest.mark.parametrize("direction", ["higher", "lower"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_missing_value_is_last_whatever_the_direction_and_never_0(direction, sign):
    task = make.task(anchors=(0, 1) if direction == "higher" else (1, 0), metrics=(metric("Own", OWN, direction),))
    ranked = rows(
        task,
        (ALICE, [1.0], {"at": EARLY}),
        (BOB, [1.0], {"metrics": {OWN: 5.0 * sign}, "at": LATE}),
        (CAROL, [1.0], {"metrics": {OWN: 7.0 * sign}, "at": LATE}),
    )

    assert [row.entry.login for row in ranked][-1] == "alice"
    assert (ranked[-1].place, ranked[-1].rank_low, ranked[-1].rank_high, ranked[-1].with_leader) == (3, 3, 3, False)
    assert ranked[-1].estimate.is_missing
    assert [row.rank_high for row in ranked[:2]] == [2, 2]


def test_a_board_of_nothing_but_missing_values_has_no_best():
    task = make.task(anchors=(0, 1), metrics=(metric("Own", OWN),))
    results = [make.result(who, [1.0], on=task) for who in (ALICE, BOB)]
    standings = build_standings(make.challenge(task), [ALICE, BOB], results, official=True)

    assert standings.tasks[0].best is None
    assert standings.overall == ()
    assert json.loads(json.dumps(standings_document(standings), allow_nan=False))["tasks"][0]["rows"][0]["metrics"] == {
        "Own": None
    }


def test_the_later_of_equals_is_listed_below():
    task = make.task(anchors=None, metrics=(metric(direction="lower"),))
    ranked = rows(task, (ALICE, [2.0], {"at": LATE}), (BOB, [2.0], {"at": EARLY}))

    assert places(ranked) == [("bob", 1), ("alice", 1)]


def test_ties_are_parted_by_the_next_metric_then_by_time():
    metrics = (metric("Success", "success_rate", threshold=1), metric("Steps", "mean_length", "lower"))
    task = make.task(anchors=None, metrics=metrics, ties=("Steps",))
    ranked = rows(
        task,
        (ALICE, [1.0, 1.0], {"lengths": [9, 9], "at": EARLY}),
        (BOB, [1.0, 2.0], {"lengths": [3, 3], "at": LATE}),
        (CAROL, [1.0, 3.0], {"lengths": [3, 3], "at": EARLY}),
    )

    assert places(ranked) == [("carol", 1), ("bob", 1), ("alice", 3)]
    assert [row.others for row in ranked] == [(3.0,), (3.0,), (9.0,)]
    assert all(row.rank_low <= row.place <= row.rank_high for row in ranked)


def test_a_missing_tie_breaker_is_behind_every_other():
    metrics = (metric("Success", "success_rate", threshold=1), metric("Own", OWN, "lower"))
    task = make.task(anchors=None, metrics=metrics, ties=("Own",))
    ranked = rows(task, (ALICE, [1.0], {"at": EARLY}), (BOB, [1.0], {"metrics": {OWN: 9.0}, "at": LATE}))

    assert places(ranked) == [("bob", 1), ("alice", 2)]


def test_ties_part_those_without_a_value_too():
    metrics = (metric("Own", OWN), metric("Return"))
    task = make.task(anchors=None, metrics=metrics, ties=("Return",))
    ranked = rows(task, (ALICE, [1.0], {}), (BOB, [2.0], {}), (CAROL, [0.0], {"metrics": {OWN: -5.0}}))

    assert places(ranked) == [("carol", 1), ("bob", 2), ("alice", 3)]


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("mean_return", {}, 4.0),
        ("iqm_return", {}, 2.5),
        ("median_return", {}, 2.5),
        ("success_rate", {"threshold": 3}, 0.5),
        ("mean_length", {}, 25.0),
    ],
)
def test_every_kind_says_what_its_name_says(kind, fields, expected):
    one = metric("M", kind, **fields)
    task = make.task(anchors=None, metrics=(one,))
    own = make.result(ALICE, [1.0, 2.0, 3.0, 10.0], on=task, lengths=[10, 20, 30, 40])

    assert result_value(own, task, one) == expected
    (row,) = rows(task, (ALICE, [1.0, 2.0, 3.0, 10.0], {"lengths": [10, 20, 30, 40]}))
    assert row.estimate.score == expected
    assert row.estimate.low <= expected <= row.estimate.high


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 10, 11])
def test_the_median_is_the_median(count):
    drawn = np.random.default_rng(count).normal(size=count).tolist()
    one = metric("M", "median_return")
    task = make.task(anchors=None, metrics=(one,))

    assert result_value(make.result(ALICE, drawn, on=task), task, one) == pytest.approx(float(np.median(drawn)))


@pytest.mark.parametrize("score", ["mean", "iqm"])
def test_naming_the_default_metric_changes_no_bit(score):
    plain = make.task(score=score, bounds=(0, 9))
    named = make.task(metrics=(metric(kind=f"{score}_return"),), bounds=(0, 9))
    random = np.random.default_rng(5)
    drawn = [(make.entry(f"user{i}"), random.uniform(0, 9, size=20).tolist(), {}) for i in range(12)]

    one, other = rows(plain, *drawn), rows(named, *drawn)

    def numbers(ranked):
        return [
            (r.entry.login, r.place, r.rank_low, r.rank_high, r.with_leader, dataclasses.astuple(r.estimate)) for r in ranked
        ]

    assert numbers(one) == numbers(other)
    assert plain.digest() == named.digest()


def test_a_single_number_with_a_standard_error_has_an_interval_and_without_one_is_told_apart_from_nobody():
    task = make.task(anchors=None, metrics=(metric("Own", OWN),))
    sure = rows(task, *((who, [1.0], {"metrics": {OWN: v, f"{OWN}:error": 0.1}}) for who, v in ((ALICE, 1.0), (BOB, 9.0))))
    unsure = rows(task, *((who, [1.0], {"metrics": {OWN: v}}) for who, v in ((ALICE, 1.0), (BOB, 9.0))))

    assert [(r.entry.login, r.rank_low, r.rank_high) for r in sure] == [("bob", 1, 1), ("alice", 2, 2)]
    assert sure[0].estimate.high - 9 == pytest.approx(0.226, abs=1e-3)
    assert [(r.entry.login, r.place, r.rank_low, r.rank_high) for r in unsure] == [("bob", 1, 1, 2), ("alice", 2, 1, 2)]
    assert math.isnan(unsure[0].estimate.low)


def test_weights_and_lower_is_better_on_the_overall_board():
    heavy = make.task("heavy", anchors=(100, 0), weight=3, metrics=(metric("Cost", direction="lower"),))
    light = make.task("light", anchors=(0, 10))
    results = [make.result(ALICE, [25.0] * 12, on=heavy), make.result(ALICE, [2.0] * 12, on=light),
               make.result(BOB, [75.0] * 12, on=heavy), make.result(BOB, [10.0] * 12, on=light)]  # fmt: skip
    overall = build_standings(make.challenge(heavy, light), [ALICE, BOB], results, official=True).overall

    assert [(row.entry.login, row.place) for row in overall] == [("alice", 1), ("bob", 2)]
    assert [row.estimate.score for row in overall] == [
        pytest.approx((3 * 0.75 + 0.2) / 4),
        pytest.approx((3 * 0.25 + 1) / 4),
    ]
    assert overall[0].estimate.low == pytest.approx(overall[0].estimate.high)


def test_an_own_metric_counts_on_the_overall_board():
    task = make.task(anchors=(0, 10), metrics=(metric("Own", OWN),))
    results = [
        make.result(who, [1.0], on=task, metrics={OWN: v, f"{OWN}:error": 0.5}) for who, v in ((ALICE, 5.0), (BOB, 8.0))
    ]
    overall = build_standings(make.challenge(task), [ALICE, BOB], results, official=True).overall

    assert [(row.entry.login, row.estimate.score) for row in overall] == [("bob", 0.8), ("alice", 0.5)]
    assert overall[0].estimate.low < 0.8 < overall[0].estimate.high


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"metrics": [{"name": "A", "kind": "mean_return"}]}, "direction"),
        ({"metrics": (metric(direction="lower"),), "anchors": (0, 1)}, "the reference is worse than the random agent"),
        ({"metrics": (metric(),), "score": "iqm"}, "means nothing beside 'metrics'"),
        ({"metrics": (metric(),), "ties": ("Score",)}, "which ranks"),
        ({"metrics": (metric(),), "ties": ("Other",)}, "none of the metrics"),
        ({"metrics": (metric(), metric())}, "stands twice"),
        ({"metrics": (metric("C", "area_under_curve"),)}, "give the task a 'script'"),
    ],
)
def test_a_board_that_contradicts_itself_is_refused(fields, words):
    with pytest.raises(ValidationError, match=words):
        make.task(**{"anchors": None, **fields})


def test_the_digest_knows_functions_and_neither_their_order_nor_words():
    first, second = metric("A", "m:f"), metric("B", "m:g", "lower")
    tasks = [make.task(anchors=None, metrics=declared) for declared in ((first, second), (second, first), (first,))]
    renamed = make.task(anchors=None, metrics=(first.model_copy(update={"name": "Z", "decimals": 3}), second))

    assert tasks[0].digest() == tasks[1].digest() == renamed.digest() != tasks[2].digest()


def test_which_way_is_better_is_decided_in_one_place():
    asking = {
        path.name
        for path in (ROOT / "leaderboard").rglob("*.py")
        if re.search(r"\.sign\b|Direction\.LOWER", path.read_text())
    }

    assert asking == {"metrics.py"}
    assert (oriented_value(metric(direction="lower"), 2.0), oriented_value(metric(), 2.0)) == (-2.0, 2.0)
    assert ranking_metric(make.task()).direction is Direction.HIGHER
    assert [one.name for one in metrics_of(make.task())] == ["Score"]


def test_the_document_holds_every_metric_with_its_direction():
    task = make.task(anchors=None, metrics=(metric("Cost", direction="lower"), metric("Steps", "mean_length", "lower")))
    results = [make.result(ALICE, [2.0, 4.0], on=task, lengths=[5, 7])]
    document = standings_document(build_standings(make.challenge(task), [ALICE], results, official=True))["tasks"][0]

    assert [(m["name"], m["direction"]) for m in document["metrics"]] == [("Cost", "lower"), ("Steps", "lower")]
    assert document["rows"][0]["metrics"] == {"Cost": 3.0, "Steps": 6.0}
