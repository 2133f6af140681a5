"""Resources that a sandbox used, as its control group counts them."""

import contextlib
import resource
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

MIB = 1 << 20
CONTROL_GROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "pids", "cpu", "cpuacct")
_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Resources that a sandbox used so far; None where they are unknown."""

    cpu_seconds: float | None = None
    peak_memory_bytes: int | None = None
    sockets: int | None = None
    """The most sockets that its network had at once."""

    def or_larger(self, other: "Usage") -> "Usage":
        """The larger of two readings of one sandbox. What it used never shrinks, but the reading of one that ends may."""
        return Usage(
            cpu_seconds=_larger(self.cpu_seconds, other.cpu_seconds),
            peak_memory_bytes=_larger(self.peak_memory_bytes, other.peak_memory_bytes),
            sockets=_larger(self.sockets, other.sockets),
        )


def _larger(one: _Number | None, other: _Number | None) -> _Number | None:
    return max((value for value in (one, other) if value is not None), default=None)


def group_usage(folders: Mapping[str, Path]) -> Usage:
    """What a control group counted, in either version; None where it cannot be read.

    `folders`: the group's directory by controller: one for each under version 1, the same for all under version 2.
    """
    microseconds = read_fields(folders["cpu"] / "cpu.stat").get("usage_usec")
    nanoseconds = _number_in(folders["cpuacct"] / "cpuacct.usage")
    peak = _number_in(folders["memory"] / "memory.peak")
    seconds = None if nanoseconds is None else nanoseconds / 1e9
    return Usage(
        cpu_seconds=seconds if microseconds is None else microseconds / 1e6,
        peak_memory_bytes=_number_in(folders["memory"] / "memory.max_usage_in_bytes") if peak is None else peak,
    )


def sockets_in_network(group: Path, processes: Path = Path("/proc")) -> int | None:
    """How many sockets there are in the network of a control group's processes, those that no process holds among them.

    Args:
        group: a directory with the group's `cgroup.procs`.
        processes: where the machine's processes are listed.
    """
    with contextlib.suppress(OSError):
        for process in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError, ValueError, IndexError):  # it may have ended
                return int((processes / process / "net/sockstat").read_text().split()[2])  # "sockets: used 3"
    return None


def read_fields(path: Path) -> dict[str, int]:
    """The lines `name number` of a file; none where it cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        pairs = (line.split() for line in path.read_text().splitlines())
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
    return {}


def own_memory_bytes() -> int:
    """What of this process lies in memory; 0 where that cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return 0


def _number_in(path: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text())
    return None
