"""Ctrl-C and SIGTERM around the making of processes."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STOPS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Whatever Ctrl-C and SIGTERM would do in the block happens after it.

    Python runs handlers between any two instructions, also inside the hooks that libraries register for a fork, where
    what they raise is printed and forgotten: the command would go on as if nobody had stopped it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread only
        return
    received: list[int] = []
    before = {number: signal.signal(number, lambda signum, frame: received.append(signum)) for number in _STOPS}
    try:
        yield
    finally:
        for stop, handler in before.items():
            signal.signal(stop, handler)
        for number in received[:1]:
            signal.raise_signal(number)


def restore_default_handlers() -> None:
    """In a process just made: end by these signals at once and without a word; what its maker says is enough."""
    for number in _STOPS:
        signal.signal(number, signal.SIG_DFL)
