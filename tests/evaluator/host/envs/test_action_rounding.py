"""What an action is after it was rounded to the task's grid: a finite number that verification takes, or a fault."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from evaluator.host.envs.spaces import ActionDecoder, IllegalActionError

TYPES = (np.float16, np.float32, np.float64)


def settled(dtype: Any, grid: float, values: list[float], *, bound: float = np.inf, clip: bool = True) -> Any:
    decoder = ActionDecoder(spaces.Box(-bound, bound, (1,), dtype), clip=clip, grid=grid)
    array = np.array(values, dtype).reshape(-1, 1)
    rounded = decoder.settle([array])
    assert decoder.is_settled(rounded)
    return rounded[0].ravel().tolist()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("clip", [True, False])
def test_a_grid_too_fine_for_the_type_changes_nothing(dtype: Any, clip: bool) -> None:
    """In float16 a grid of 1e-9 is zero, and every number divided by it and multiplied again is none."""
    values = [0.0, -0.5, 1.0, 0.25]

    assert settled(dtype, 1e-320, values, bound=2.0, clip=clip) == values


@pytest.mark.parametrize(("dtype", "large"), [(np.float16, 65504.0), (np.float32, 2.0**127), (np.float64, 2.0**1000)])
def test_a_quotient_too_large_for_the_type_is_no_infinite_action(dtype: Any, large: float) -> None:
    assert settled(dtype, 0.5, [large, -large, 1.3]) == [large, -large, 1.5]


def test_a_grid_wider_than_the_type_rounds_to_zero() -> None:
    assert settled(np.float16, 1e6, [3.0, -65504.0]) == [0.0, 0.0]


def test_what_cannot_be_rounded_to_a_finite_number_is_illegal() -> None:
    """Rounded to a multiple of 40000, the largest float16 numbers lie outside of their type."""
    decoder = ActionDecoder(spaces.Box(-np.inf, np.inf, (1,), np.float16), clip=True, grid=40000.0)

    with pytest.raises(IllegalActionError, match="grid") as caught:
        decoder.settle([np.array([[1.0], [40000.0], [65504.0], [-65504.0]], np.float16)])
    assert caught.value.row == 2


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_action_that_is_no_number_stays_illegal(dtype: Any, bad: float) -> None:
    for grid in (None, 0.1, 1e-300, 1e300):
        decoder = ActionDecoder(spaces.Box(-1, 1, (1,), dtype), clip=True, grid=grid)
        with pytest.raises(IllegalActionError, match="finite") as caught:
            decoder.settle([np.array([[0.0], [bad]], dtype)])
        assert caught.value.row == 1


@given(
    dtype=st.sampled_from(TYPES),
    grid=st.floats(min_value=0, exclude_min=True, allow_infinity=False),
    bound=st.sampled_from([1.0, 2.5, 60000.0, np.inf]),
    clip=st.booleans(),
    data=st.data(),
)
def test_every_settled_action_is_finite_in_bounds_and_taken_by_verification(
    dtype: Any, grid: float, bound: float, clip: bool, data: Any
) -> None:
    width = np.dtype(dtype).itemsize * 8
    values = data.draw(st.lists(st.floats(width=width, allow_nan=False, allow_infinity=False), min_size=1, max_size=4))
    try:
        rounded = settled(dtype, grid, values, bound=bound, clip=clip)
    except IllegalActionError:
        return
    assert np.isfinite(rounded).all()
    assert (np.abs(rounded) <= dtype(bound)).all()
