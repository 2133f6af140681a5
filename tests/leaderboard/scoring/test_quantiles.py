"""Quantiles against those of scipy, which has its own way to each."""

import numpy as np
import pytest
from scipy import special

from leaderboard.scoring.intervals import MANY_DEGREES, normal_quantile, student_quantile

CHANCES = [0.001, 0.025, 0.3, 0.5, 0.6, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9995]
AROUND = (MANY_DEGREES - 1, MANY_DEGREES, MANY_DEGREES + 1)
FREEDOMS = [*range(1, 130), 199, 200, 400, *AROUND, 999, 1000, 2000, 9999, 10_000, 10**6, 10**9]


@pytest.mark.parametrize("chance", CHANCES)
def test_the_normal_quantile_is_that_of_scipy(chance):
    assert normal_quantile(chance) == pytest.approx(special.ndtri(chance), rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("chance", CHANCES)
def test_students_quantile_is_that_of_scipy(chance):
    own = np.array([student_quantile(freedom, chance) for freedom in FREEDOMS])

    assert own == pytest.approx(special.stdtrit(FREEDOMS, chance), rel=1e-12, abs=1e-15)


def test_students_quantile_of_every_size_up_to_the_expansion_at_the_boards_confidence():
    freedoms = np.arange(1, 3 * MANY_DEGREES)

    own = np.array([student_quantile(int(freedom), 0.975) for freedom in freedoms])

    assert own == pytest.approx(special.stdtrit(freedoms, 0.975), rel=1e-12)
    assert (np.diff(own) < 0).all()
