"""Which part of many agents one process takes on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Share:
    """One of several parts, which are as large as each other: together they are the whole, in its order."""

    index: int = 0
    """Which, from 0."""
    count: int = 1
    """Of how many."""

    def of(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """What falls to it: neighbours, so that two processes touch different memory."""
        begin, end = (len(things) * edge // self.count for edge in (self.index, self.index + 1))
        return things[begin:end]


WHOLE = Share()
"""Everything."""
