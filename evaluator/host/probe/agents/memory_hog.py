"""Takes more memory than it may."""


class Agent:
    """Touches page after page."""

    def act(self, observation: object) -> int:
        """Never returns where memory is limited below 64 GiB."""
        kept = [b"x" * (1 << 20) for _ in range(1 << 16)]
        return len(kept) * 0
