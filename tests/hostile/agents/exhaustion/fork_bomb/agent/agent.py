"""Forks as often as it can."""

import os
import time

born, refused = 0, 0
for _ in range(1000):
    try:
        if os.fork() == 0:
            time.sleep(1000)
            os._exit(0)
        born += 1
    except OSError:
        refused += 1
        break
assert refused, f"{born} processes and no end"
assert born < 20, born
print("forks:", born, flush=True)


class Agent:
    def act(self, observation):
        return 0
