"""What is kept of an agent's output while it runs: its end, up to a limit. Each sandbox reads it for itself."""

import threading
from collections.abc import Callable

KEPT_LOG_BYTES = 1 << 16


class AgentLog:
    """The end of an output, and whether it exceeded the limit."""

    def __init__(self, limit: int, on_overflow: Callable[[], None]) -> None:
        self._limit = limit
        self._on_overflow = on_overflow
        self._tail = b""
        self._total = 0
        self._lock = threading.Lock()
        self.overflown = False

    def write(self, data: bytes) -> None:
        """Add output; the first time it exceeds the limit, call `on_overflow`."""
        with self._lock:
            self._total += len(data)
            self._tail = (self._tail + data)[-KEPT_LOG_BYTES:]
            first = self._total > self._limit and not self.overflown
            self.overflown = self.overflown or first
        if first:
            self._on_overflow()

    def tail(self) -> str:
        """The end of the output as text."""
        with self._lock:
            return self._tail.decode("utf-8", "replace")
