"""Returns as text: millions of numbers, a few hundred results at a time."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from leaderboard.scoring.bootstrap import Array
from leaderboard.text import serialise

DIGITS = 7
# Powers of ten that floats hold exactly: what is rounded with them is the float nearest to its decimal digits.
_EXACT = 22
_POWERS = 10.0 ** np.arange(_EXACT + 1)


def lists(found: Sequence[Sequence[float]]) -> list[str]:
    """Each as a JSON list, of seven significant digits: the result's file has them all, and no picture shows more.

    Args:
        found: finite numbers.
    """
    if not found:
        return []
    rounded = _rounded(np.concatenate(found, dtype=np.float64)).tolist()
    ends = accumulate(map(len, found))
    whole = serialise.dumped([rounded[end - len(one) : end] for one, end in zip(found, ends, strict=True)])
    return [f"[{own}]" for own in whole.replace(".0,", ",").replace(".0]", "]")[2:-2].split("],[")]


def _rounded(values: Array) -> Array:
    """To seven significant digits; halves may go either way."""
    size = np.abs(values)
    with np.errstate(divide="ignore"):
        shift = np.where(size > 0, DIGITS - 1 - np.floor(np.log10(size)), 0).astype(np.intp)
    if np.abs(shift).max(initial=0) > _EXACT:
        return np.array([float(f"{value:.{DIGITS}g}") for value in values.tolist()])
    up, down = _POWERS[np.maximum(shift, 0)], _POWERS[np.maximum(-shift, 0)]
    rounded: Array = np.rint(values * up / down) / up * down
    return rounded
