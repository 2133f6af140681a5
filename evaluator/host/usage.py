"""What a sandbox used."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a sandbox used so far."""

    cpu_seconds: float | None = None
    """Processor seconds; None where they cannot be had."""
    peak_memory_bytes: int | None = None
    """Largest memory; None where it cannot be had."""
