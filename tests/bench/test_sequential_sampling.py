"""The study of sequential sampling: its tests are calibrated, and its judge sees a wrong call."""

import numpy as np
import pytest

from bench import sequential_sampling as study

BOARDS = 200
CASES = {case.name: (seed, case) for seed, case in enumerate(study.cases())}


def outcomes(name: str) -> dict[str, study.Outcome]:
    seed, case = CASES[name]
    return {outcome.method: outcome for outcome in study.outcomes(case, BOARDS, seed)}


@pytest.mark.parametrize(
    ("spending", "published"),
    [
        (study.o_brien_fleming, [4.877, 3.357, 2.680, 2.290, 2.031]),
        (study.pocock, [2.438, 2.427, 2.410, 2.397, 2.386]),
    ],
)
def test_boundaries_of_five_looks_are_the_published_ones(spending: study.Spending, published: list[float]) -> None:
    assert study.boundary(spending, 0.05, 5) == pytest.approx(published, abs=3e-3)


@pytest.mark.parametrize("name", ["normal, two pairs equal, others 1 sd apart", "ties at three values, equal"])
def test_at_most_one_board_in_twenty_has_a_false_order(name: str) -> None:
    measured = outcomes(name)
    assert {outcome.false_order <= study.ALPHA for outcome in measured.values()} == {True}
    assert max(outcome.false_equal for outcome in measured.values()) == 0


def test_only_bets_stand_a_crash_that_was_not_seen_yet() -> None:
    measured = outcomes("crash in 2 %, or steady; equal means")
    assert {method for method, outcome in measured.items() if outcome.false_order <= study.ALPHA} == {
        "betting, mixed",
        "betting, N-SCORE's stake",
    }


def test_the_judge_sees_false_orders() -> None:
    _, case = CASES["normal, equal"]
    values = case.draw(np.random.default_rng(1), (50, 8, 20))
    hasty = study.IntervalTest(lambda count, level: 0 * count, 0.05, (50, 28))
    course = study.play(values, case, hasty, 10, adaptive=True)
    assert course.false_order[0] == 1
    assert course.settled[0] == 0


def test_half_of_the_episodes_is_out_of_reach_for_neighbours_half_a_deviation_apart() -> None:
    measured = outcomes(study.HALF_APART)
    fixed = measured.pop("fixed")
    assert 0.7 < fixed.fixed < 0.9
    least = study.least_ratio(fixed.fixed)
    assert least > 0.5
    assert min(outcome.ratio for outcome in measured.values() if outcome.ratio is not None) > least
