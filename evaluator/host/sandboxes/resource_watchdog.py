"""What stops a sandbox that exceeds its limits of time, output and sockets.

The kernel enforces those of memory and processes.
"""

import contextlib
import threading
import time
from collections.abc import Callable

from evaluator.host.errors import AgentFault, SandboxError
from evaluator.host.usage import MIB, Usage
from evaluator.model.config.limits import Limits
from evaluator.model.records.verdict import Verdict

PERIOD_SECONDS = 1.0
# Where sockets are counted, since an agent can fill hundreds in a second.
SHORT_PERIOD_SECONDS = 0.2
# Longer between two measurements than this, and the machine stood still: an engine that is asked gives up before that.
LONGEST_PERIOD_SECONDS = 120.0
FIRST_PAUSE_SECONDS = 0.05
# No control group counts the connections that nobody has accepted, nor what waits in a socket's queue of errors: an agent
# with `loopback` held 875 MiB beside 19 that were counted within seven processor seconds, and could go on. `SYSCTLS` in
# `container_options` limits what one socket may hold.
MOST_SOCKETS = 512


class ResourceWatchdog:
    """Measures once a second; `reason` says why it stopped the sandbox, `seen` is the largest measurement.

    Sockets are counted more often. At the start it measures more often, too, since a sandbox that ends within a second
    cannot be measured afterwards.
    """

    def __init__(
        self,
        limits: Limits,
        measure: Callable[[], Usage],
        stop: Callable[[], None],
        wall_seconds: float | None = None,
        most_sockets: int | None = None,
    ) -> None:
        self._limits = limits
        self._most_sockets = most_sockets
        self._wall = limits.wall_seconds if wall_seconds is None else wall_seconds
        self._measure = measure
        self._stop = stop
        self._over = threading.Event()
        self._begun = self._last = time.monotonic()
        self.reason: str | None = None
        self.verdict = Verdict.TIMEOUT
        self.seen = Usage()
        self._carried_cpu = self._carried_wall = 0.0
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Start measuring."""
        self._begun = self._last = time.monotonic()
        self._thread.start()

    def charge(self, cpu_seconds: float, wall_seconds: float) -> None:
        """Count what an interrupted attempt has used of the limits already."""
        self._carried_cpu, self._carried_wall = cpu_seconds, wall_seconds

    def finish(self) -> None:
        """Stop measuring."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def out_of_memory(self) -> AgentFault:
        """The fault of an agent that the kernel ended at its memory limit, which no measurement may have seen it reach."""
        reached = Usage(peak_memory_bytes=self._limits.memory_mib * MIB)
        self.finish()
        self.seen = self.seen.or_larger(reached)
        return AgentFault(Verdict.OUT_OF_MEMORY, f"the agent used more than {self._limits.memory_mib} MiB of memory")

    def _run(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            with contextlib.suppress(SandboxError):
                self.seen = self._measure().or_larger(self.seen)
            self.reason = self._excess()
            if self.reason:
                self._stop()
                return
            counts = self._most_sockets is not None and self.seen.sockets is not None
            if self._over.wait(min(pause, SHORT_PERIOD_SECONDS if counts else PERIOD_SECONDS)):
                return
            pause *= 2

    def _skip_standstill(self) -> None:
        """Leave out of the wall time that the machine was asleep, which is not the agent's doing."""
        now = time.monotonic()
        if now - self._last > LONGEST_PERIOD_SECONDS:
            self._begun += now - self._last - PERIOD_SECONDS
        self._last = now

    def _excess(self) -> str | None:
        self._skip_standstill()
        wall = self._carried_wall + time.monotonic() - self._begun
        if self._carried_cpu + (self.seen.cpu_seconds or 0) > self._limits.cpu_seconds:
            return f"the agent used more than {self._limits.cpu_seconds:g} processor seconds"
        if wall > self._wall:
            return f"the evaluation took more than {self._wall:g} seconds"
        if self._most_sockets is not None and (self.seen.sockets or 0) > self._most_sockets:
            self.verdict = Verdict.OUT_OF_MEMORY
            return f"the agent had more than {self._most_sockets} sockets at once, whose memory its limit does not count"
        return None
