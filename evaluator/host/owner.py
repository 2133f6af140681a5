"""Which process a container belongs to, so that what a dead one left behind can be told from a neighbour's."""

import json
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Which process a container belongs to; a number alone may be another process tomorrow."""

    pid: int
    start: str
    boot: str
    namespace: str


def this_process() -> Owner:
    """The owner that this process is."""
    return Owner(pid=os.getpid(), start=_start_time(os.getpid()), boot=_read("/proc/sys/kernel/random/boot_id"),
                 namespace=_namespace())  # fmt: skip


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _start_time(pid: int) -> str:
    """Field 22 of /proc/PID/stat, counted after the process name; empty when there is none, or only its zombie."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def is_orphan(label: str, *, running: bool) -> bool:
    """Whether the owner that a container's label names is gone."""
    try:
        owner = Owner(**json.loads(label))
    except (ValueError, TypeError):
        return False
    if owner.boot != _read("/proc/sys/kernel/random/boot_id"):
        return not running
    if owner.namespace != _namespace():
        return False
    return _start_time(owner.pid) != owner.start
