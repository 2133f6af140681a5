"""What an agent prints: counted while it is read, kept only at its end."""

import threading
from collections.abc import Callable

KEPT = 1 << 16


class BoundedLog:
    """The end of a stream, and whether it was too long."""

    def __init__(self, limit: int, on_overflow: Callable[[], None]) -> None:
        self._limit = limit
        self._on_overflow = on_overflow
        self._tail = b""
        self._total = 0
        self._lock = threading.Lock()
        self.overflown = False

    def write(self, data: bytes) -> None:
        """Add what was printed; the first byte too many calls `on_overflow`, once."""
        with self._lock:
            self._total += len(data)
            self._tail = (self._tail + data)[-KEPT:]
            first = self._total > self._limit and not self.overflown
            self.overflown = self.overflown or first
        if first:
            self._on_overflow()

    def tail(self) -> str:
        """The end of it as text."""
        with self._lock:
            return self._tail.decode("utf-8", "replace")
