"""Prints more than it may."""


class Agent:
    """Talks without end."""

    def act(self, observation: object) -> int:
        """Never returns where output is limited below a gigabyte."""
        for _ in range(1 << 10):
            print("x" * (1 << 20))
        return 0
