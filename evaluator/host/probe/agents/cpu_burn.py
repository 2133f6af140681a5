"""Uses more processor time than it may, in answers that are each in time."""

import time


class Agent:
    """Busy."""

    def act(self, observation: object) -> int:
        """Any action, after half a second of work."""
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            pass
        return 0
