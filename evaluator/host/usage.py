"""Resources that a sandbox used."""

from dataclasses import dataclass
from typing import TypeVar

MIB = 1 << 20
_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Resources that a sandbox used so far; None where they are unknown."""

    cpu_seconds: float | None = None
    peak_memory_bytes: int | None = None

    def or_larger(self, other: "Usage") -> "Usage":
        """The larger of two readings of one sandbox. What it used never shrinks, but the reading of one that ends may."""
        return Usage(
            cpu_seconds=_larger(self.cpu_seconds, other.cpu_seconds),
            peak_memory_bytes=_larger(self.peak_memory_bytes, other.peak_memory_bytes),
        )


def _larger(one: _Number | None, other: _Number | None) -> _Number | None:
    return max((value for value in (one, other) if value is not None), default=None)
