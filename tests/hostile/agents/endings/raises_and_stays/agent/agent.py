"""Raises an exception and hangs while its process ends."""

import atexit
import threading
import time

atexit.register(time.sleep, 1000)
threading.Thread(target=time.sleep, args=(1000,)).start()


class Agent:
    def act(self, observation):
        raise RuntimeError("I am gone, but I stay")
