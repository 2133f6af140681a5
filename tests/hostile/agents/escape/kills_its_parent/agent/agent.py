"""Kills the process that started it, and the first process."""

import os
import signal
import time


class Agent:
    def act(self, observation):
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
            for pid in {1, os.getppid()}:
                try:
                    os.kill(pid, number)
                except OSError:
                    pass
        time.sleep(1000)
