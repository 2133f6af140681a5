"""Kills itself by the signal that the kernel uses when memory is short."""

import os
import signal


class Agent:
    def act(self, observation):
        os.kill(os.getpid(), signal.SIGKILL)
