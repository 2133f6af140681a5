"""Quantiles against those of scipy, which has its own way to each."""

import numpy as np
import pytest
from scipy import special

from leaderboard.scoring.intervals import (
    MANY_DEGREES,
    normal_quantile,
    normal_quantiles,
    student_quantile,
    student_quantiles,
)

CHANCES = [0.001, 0.025, 0.3, 0.5, 0.6, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9995]
AROUND = (MANY_DEGREES - 1, MANY_DEGREES, MANY_DEGREES + 1)
FREEDOMS = [*range(1, 130), 199, 200, 400, *AROUND, 999, 1000, 2000, 9999, 10_000, 10**6, 10**9]


@pytest.mark.parametrize("chance", CHANCES)
def test_the_normal_quantile_is_that_of_scipy(chance):
    assert normal_quantile(chance) == pytest.approx(special.ndtri(chance), rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("chance", CHANCES)
def test_students_quantile_is_that_of_scipy(chance):
    own = np.array([student_quantile(freedom, chance) for freedom in FREEDOMS])

    assert own == pytest.approx(special.stdtrit(FREEDOMS, chance), rel=1e-12, abs=1e-11)


def test_students_quantile_of_every_size_up_to_the_expansion_at_the_boards_confidence():
    freedoms = np.arange(1, 3 * MANY_DEGREES)

    own = np.array([student_quantile(int(freedom), 0.975) for freedom in freedoms])

    assert own == pytest.approx(special.stdtrit(freedoms, 0.975), rel=1e-11)
    assert (np.diff(own) <= 0).all()


@pytest.mark.parametrize("freedom", [3, 4, 99, 10_000])
def test_quantiles_of_many_chances_at_once_reach_far_into_the_tail(freedom):
    chances = 1 - 0.025 / np.array([[1, 7], [1000, 200_000]])

    assert student_quantiles(freedom, chances) == pytest.approx(special.stdtrit(freedom, chances), rel=1e-8)
    assert normal_quantiles(chances) == pytest.approx(special.ndtri(chances), rel=1e-8)
