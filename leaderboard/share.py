"""Which part of many agents one process takes on."""

from collections.abc import Iterator, Sequence
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
# Enough that what is done once for all of them does not matter, and too few to need memory.
_BATCH = 64


def batches(things: Sequence[Thing]) -> Iterator[Sequence[Thing]]:
    """A few at a time, in their order."""
    return (things[begin : begin + _BATCH] for begin in range(0, len(things), _BATCH))
