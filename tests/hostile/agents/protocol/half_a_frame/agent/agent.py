"""Sends half an answer and no more."""

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


class Agent:
    def act(self, observation):
        say(struct.pack("<IBi", 16, 4, 0))
        time.sleep(1000)
