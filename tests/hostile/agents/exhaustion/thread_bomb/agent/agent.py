"""Starts a thousand threads."""

import threading
import time

born = 0
try:
    for born in range(1000):
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
except RuntimeError as error:
    print("threads:", born, error, flush=True)
else:
    raise AssertionError("a thousand threads were granted")


class Agent:
    def act(self, observation):
        return 0
