"""Which part of many agents one process takes on."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar, cast

from evaluator import signals

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


from collections.abc import Sequence
from dataclasses import dataclass

Value = TypeVar("Value")


class BackgroundProcessError(Exception):
    """The second process ended without a word, as one does that the system kills for its memory."""


@contextmanager
def run_in_background(work: Callable[[], Value]) -> Iterator[Callable[[], Value]]:
    """Begin `work` beside what the block does; what it is given waits for the value.

    With one processor, work is done when its value is asked for.

    Raises:
        EndedError: by the given function, when the process ended without a value; what `work` raises is raised there too.
    """
    if len(os.sched_getaffinity(0)) < 2:
        yield work
        return
    # Small boards need no second process, and their commands are to start fast.
    import multiprocessing

    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_work, args=(work, theirs), daemon=True)
    with warnings.catch_warnings():
        # The only other threads are those of numpy's algebra, which stops them before a fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        with signals.signals_deferred():
            process.start()
    theirs.close()
    try:
        yield lambda: cast("Value", _value(ours))
    finally:
        ours.close()
        # Whoever asked for the value has it; whoever did not ask does not want it. No handler of a signal has a say.
        process.kill()
        process.join()


def _work(work: Callable[[], Value], answer: "Connection") -> None:
    # Who stops the command stops both; what the first one says then is enough.
    signals.restore_default_handlers()
    try:
        outcome: tuple[Value | None, Exception | None] = work(), None
    except Exception as error:  # noqa: BLE001  (it is raised again where the value is asked for)
        outcome = None, error
    answer.send(outcome)


def _value(answer: "Connection") -> object:
    try:
        value, error = answer.recv()
    except EOFError:
        raise BackgroundProcessError("the second process ended; give this machine more memory, or one processor") from None
    if error is not None:
        raise error
    return value


Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Partition:
    """One of several parts, which are as large as each other: together they are the whole, in its order."""

    index: int = 0
    """Which, from 0."""
    count: int = 1
    """Of how many."""

    def of(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """What falls to it: neighbours, so that two processes touch different memory."""
        begin, end = (len(things) * edge // self.count for edge in (self.index, self.index + 1))
        return things[begin:end]


WHOLE = Partition()
"""Everything."""
# Enough that what is done once for all of them does not matter, and too few to need memory.
_BATCH = 64


def batches(things: Sequence[Thing]) -> Iterator[Sequence[Thing]]:
    """A few at a time, in their order."""
    return (things[begin : begin + _BATCH] for begin in range(0, len(things), _BATCH))
