"""Sends an error nested so deep that it can be parsed but not printed."""

import os
import struct
import sys
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


deepest = int(open("/submission/depth.txt").read())


class Agent:
    def act(self, observation):
        say(frame(6, b'{"trouble": "crashed", "message": ' + b"[" * deepest + b"]" * deepest + b"}"))
        time.sleep(1000)
