"""Sends a move before it was asked."""

import os
import struct


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


say(frame(4, struct.pack("<4q", 0, 0, 0, 0)))


class Agent:
    def act(self, observation):
        return 0
