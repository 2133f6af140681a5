"""Resources that a sandbox used."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Resources that a sandbox used so far; None where they are unknown."""

    cpu_seconds: float | None = None
    peak_memory_bytes: int | None = None
