"""Stops its own process by a signal."""

import os
import signal


class Agent:
    def act(self, observation):
        os.kill(os.getpid(), signal.SIGSTOP)
        return 0
