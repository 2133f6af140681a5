"""Returns as text: millions of numbers, many of them the same."""

from collections.abc import Sequence

# Texts that are kept at most. Where returns are counts or rounded there are fewer; where there are more, keeping is no use.
MOST = 1 << 16


class Numbers:
    """Writes numbers with seven significant digits: the result's file has them all, and no picture shows more."""

    def __init__(self) -> None:
        self._known = _Known()

    def list(self, found: Sequence[float]) -> str:
        """As a JSON list."""
        known = self._known
        if len(known) < MOST:
            return f"[{','.join([known[value] for value in found])}]"
        return f"[{','.join(['%.7g'] * len(found)) % tuple(found)}]"


class _Known(dict[float, str]):
    def __missing__(self, value: float) -> str:
        told = f"{value:.7g}"
        # Zero is equal to its negative, which is written otherwise.
        if value:
            self[value] = told
        return told
