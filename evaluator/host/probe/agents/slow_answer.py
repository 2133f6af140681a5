"""Answers later than it may."""

import time


class Agent:
    """Asleep."""

    def act(self, observation: object) -> int:
        """Any action, too late."""
        time.sleep(3600)
        return 0
