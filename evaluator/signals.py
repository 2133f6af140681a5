"""Ctrl-C and SIGTERM around the making of processes."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STOPS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer SIGINT and SIGTERM to the end of the block.

    Python runs handlers between any two instructions, also inside the hooks that libraries register for a fork. Exceptions
    are only printed there, so the command would not stop.
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
    """In a new child process: let SIGINT and SIGTERM end it at once, without a message; the parent prints one."""
    for number in _STOPS:
        signal.signal(number, signal.SIG_DFL)
