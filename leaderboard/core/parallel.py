"""Work in a second process, and partitions and batches of sequences."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

from evaluator import signals

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Value = TypeVar("Value")
# Large enough that the work for each batch does not matter, and small enough to need little memory.
_BATCH_SIZE = 64


class BackgroundProcessError(Exception):
    """The second process ended without a value, such as when the system killed it for its memory."""


@contextmanager
def run_in_background(work: Callable[[], Value]) -> Iterator[Callable[[], Value]]:
    """Run `work` in a second process during the block; the yielded function waits for its value.

    With one processor, the function does the work itself.

    Raises:
        BackgroundProcessError: by the function, if the process ended without a value. The function also raises what `work`
            raises.
    """
    if len(os.sched_getaffinity(0)) < 2:
        yield work
        return
    # imported late: commands without a second process start faster
    import multiprocessing

    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_work, args=(work, sender), daemon=True)
    with warnings.catch_warnings():
        # The only other threads are those of numpy's BLAS, which stops them before a fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        with signals.signals_deferred():
            process.start()
    sender.close()
    try:
        yield lambda: cast("Value", _value(receiver))
    finally:
        receiver.close()
        # The value was received, or is not needed any more. SIGKILL cannot be handled.
        process.kill()
        process.join()


def _work(work: Callable[[], Value], answer: "Connection") -> None:
    # A signal to the command stops both processes; only the first one prints a message.
    signals.restore_default_handlers()
    try:
        outcome: tuple[Value | None, Exception | None] = work(), None
    except Exception as error:  # noqa: BLE001  (it is raised again in the first process)
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


@dataclass(frozen=True)
class Partition:
    """One of several parts of equal size, which together are the whole sequence in order."""

    index: int = 0
    count: int = 1

    def of(self, items: Sequence[Value]) -> Sequence[Value]:
        """The items of this part; they are neighbours, so that two processes touch different memory."""
        begin, end = (len(items) * edge // self.count for edge in (self.index, self.index + 1))
        return items[begin:end]


SINGLE_PARTITION = Partition()


def batches(items: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """Split a sequence into batches, in order."""
    return (items[begin : begin + _BATCH_SIZE] for begin in range(0, len(items), _BATCH_SIZE))
