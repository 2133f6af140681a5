"""Sleeps while its child processes use processor time."""

import os
import time

for _ in range(8):
    if os.fork() == 0:
        while True:
            pass


class Agent:
    def act(self, observation):
        time.sleep(1)
        return 0
