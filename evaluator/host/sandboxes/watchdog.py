"""A watchdog beside a sandbox: counts processor seconds and the wall, and stops what goes beyond."""

import contextlib
import threading
import time
from collections.abc import Callable

from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.usage import Usage
from evaluator.model.config.challenge import Limits

PERIOD = 1.0


class Watchdog:
    """Looks once a second; `reason` says why it stopped the sandbox, `seen` is the last reading."""

    def __init__(
        self, limits: Limits, measure: Callable[[], Usage], stop: Callable[[], None], wall_seconds: float | None = None
    ) -> None:
        self._limits = limits
        self._wall = limits.wall_seconds if wall_seconds is None else wall_seconds
        self._measure = measure
        self._stop = stop
        self._over = threading.Event()
        self._begun = time.monotonic()
        self.reason: str | None = None
        self.seen = Usage()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._begun = time.monotonic()
        self._thread.start()

    def finish(self) -> None:
        """Look no more."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._over.wait(PERIOD):
            with contextlib.suppress(EngineError):
                now = self._measure()
                # A sandbox that has ended tells nothing any more: what it told before stands.
                self.seen = Usage(
                    cpu_seconds=now.cpu_seconds or self.seen.cpu_seconds,
                    peak_memory_bytes=now.peak_memory_bytes or self.seen.peak_memory_bytes,
                )
            self.reason = self._verdict()
            if self.reason:
                self._stop()
                return

    def _verdict(self) -> str | None:
        wall = time.monotonic() - self._begun
        if (self.seen.cpu_seconds or 0) > self._limits.cpu_seconds:
            return f"the agent used more than {self._limits.cpu_seconds:g} processor seconds"
        if wall > self._wall:
            return f"the evaluation took more than {self._wall:g} seconds"
        return None
