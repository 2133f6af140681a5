"""Leaves children unburied, so that every number of a process is taken."""

import os

born = 0
try:
    for _ in range(5000):
        if os.fork() == 0:
            os._exit(0)
        born += 1
except OSError as error:
    print("zombies:", born, error.strerror, flush=True)
assert born < 60, born


class Agent:
    def act(self, observation):
        return 0
