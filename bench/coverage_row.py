"""A row of the table of `bench.coverage`."""

import operator
from typing import NamedTuple

_COMPARISONS = {"≥": operator.ge, "≤": operator.le}


class CoverageRow(NamedTuple):
    """What one case of a simulation reached."""

    case: str
    measured: float
    target: str
    """A comparison, `≥ 93` or `≤ 5`; empty if there is none."""
    width: str = ""
    """Median width of the intervals, in words."""
    unit: str = "%"

    @property
    def is_reached(self) -> bool:
        """Whether the measured value meets the target."""
        if not self.target:
            return True
        sign, limit = self.target.split()
        return bool(_COMPARISONS[sign](self.measured, float(limit)))
