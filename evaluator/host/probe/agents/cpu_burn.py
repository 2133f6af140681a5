"""Uses more processor time than it may, in answers that are each in time."""

import time


class Agent:
    """Busy."""

    def act(self, observation: object) -> int:
        """Any action, after half a second of processor time: on a busy machine that is many seconds by the clock."""
        until = time.process_time() + 0.5
        while time.process_time() < until:
            pass
        return 0
