"""Ends in the moment in which it says that it is ready, while the referee sets the share of its container."""

import os
import threading
import time


def end():
    time.sleep(0.001)
    os._exit(0)


class Agent:
    memoryless = True

    def __init__(self):
        threading.Thread(target=end).start()

    def act(self, observation):
        return 0
