"""Kills itself as the kernel would."""

import os
import signal


class Agent:
    def act(self, observation):
        os.kill(os.getpid(), signal.SIGKILL)
