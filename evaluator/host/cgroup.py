"""A control group for the process sandbox, where the kernel lets us make one; None where it does not."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from evaluator.host.usage import Usage
from evaluator.model.config.challenge import Limits

_MIB = 1 << 20
_PERIOD = 100_000


@dataclass(frozen=True, kw_only=True)
class Group:
    """Directories (one per controller under v1, one in all under v2) that hold the sandbox's processes."""

    places: dict[str, Path]
    """Controller to directory."""
    unified: bool
    """cgroup v2."""

    @classmethod
    def create(cls, limits: Limits, root: Path, name: str) -> Self | None:
        """A new group with the limits in force, or None where that is not granted."""
        unified = (root / "cgroup.controllers").exists()
        names = ("memory", "pids", "cpu", "cpuacct")
        places = {c: (root / name if unified else root / c / name) for c in names}
        group = cls(places=places, unified=unified)
        try:
            for place in dict.fromkeys(places.values()):
                place.mkdir()
            group._limit(limits)
        except OSError:
            group.remove()
            return None
        return group

    def _limit(self, limits: Limits) -> None:
        memory, quota = str(limits.memory_mib * _MIB), int(limits.cpus * _PERIOD)
        if self.unified:
            self._write("memory", "memory.max", memory)
            self._write("cpu", "cpu.max", f"{quota} {_PERIOD}")
            with contextlib.suppress(OSError):  # a kernel without swap accounting has no such file
                self._write("memory", "memory.swap.max", "0")
        else:
            self._write("memory", "memory.limit_in_bytes", memory)
            self._write("cpu", "cpu.cfs_period_us", str(_PERIOD))
            self._write("cpu", "cpu.cfs_quota_us", str(quota))
            with contextlib.suppress(OSError):
                self._write("memory", "memory.memsw.limit_in_bytes", memory)
        self._write("pids", "pids.max", str(limits.pids))

    def _write(self, controller: str, file: str, text: str) -> None:
        (self.places[controller] / file).write_text(text)

    def _read(self, controller: str, file: str) -> str:
        try:
            return (self.places[controller] / file).read_text()
        except OSError:
            return ""

    def join(self) -> None:
        """Move the calling process into the group; called between fork and exec."""
        for place in dict.fromkeys(self.places.values()):
            (place / "cgroup.procs").write_text(str(os.getpid()))

    def usage(self) -> Usage:
        """What its processes used so far."""
        if self.unified:
            stat = _fields(self._read("cpu", "cpu.stat")).get("usage_usec")
            peak = self._read("memory", "memory.peak")
            cpu = stat / 1e6 if stat is not None else None
        else:
            nanoseconds = self._read("cpuacct", "cpuacct.usage")
            peak = self._read("memory", "memory.max_usage_in_bytes")
            cpu = int(nanoseconds) / 1e9 if nanoseconds else None
        return Usage(cpu_seconds=cpu, peak_memory_bytes=int(peak) if peak.strip().isdigit() else None)

    def killed_by_memory(self) -> bool:
        """Whether the memory limit killed one of them."""
        text = self._read("memory", "memory.events" if self.unified else "memory.oom_control")
        return _fields(text).get("oom_kill", 0) > 0

    def remove(self) -> None:
        """Kill what is left in it and remove it."""
        for place in dict.fromkeys(self.places.values()):
            with contextlib.suppress(OSError, ValueError):
                for pid in (place / "cgroup.procs").read_text().split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), 9)
            with contextlib.suppress(OSError):
                place.rmdir()


def _fields(text: str) -> dict[str, int]:
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
