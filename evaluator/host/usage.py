"""What a container used, read from the engine's statistics and from the kernel's own files."""

import contextlib
from pathlib import Path
from typing import Any

from evaluator.host.sandbox import Usage


def read_usage(payload: dict[str, Any]) -> Usage:
    """Usage from the engine's statistics: cgroup v1 tells the peak (`max_usage`), v2 does not."""
    cpu = payload.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage")
    peak = payload.get("memory_stats", {}).get("max_usage")
    return Usage(cpu_seconds=cpu / 1e9 if cpu else None, peak_memory_bytes=int(peak) if peak else None)


def peak_from_cgroup(root: Path, container: str) -> int | None:
    """`memory.peak` of a cgroup v2 container, under either cgroup driver; None where it cannot be read."""
    for place in (f"system.slice/docker-{container}.scope", f"docker/{container}"):
        with contextlib.suppress(OSError, ValueError):
            return int((root / place / "memory.peak").read_text())
    return None
