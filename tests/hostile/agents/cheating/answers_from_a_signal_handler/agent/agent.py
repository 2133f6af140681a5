"""Answers from a signal's handler while its act still thinks, and once more afterwards."""

import os
import signal
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


def ring(number, stack):
    say(frame(4, struct.pack("<4q", 0, 0, 0, 0)))


signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)


class Agent:
    def act(self, observation):
        time.sleep(0.12)
        return 0
