"""Has the kernel write everything that any process left unwritten, without a pause."""

import os
import threading
import time

rounds = 0


def storm():
    global rounds
    while True:
        os.sync()
        rounds += 1


for _ in range(4):
    threading.Thread(target=storm, daemon=True).start()
time.sleep(2)
print("synced:", rounds > 0, flush=True)


class Agent:
    def act(self, observation):
        return 0
