"""Writes NaN and infinity into its handshake, which are no JSON."""

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


say(frame(2, b'{"protocol": 1, "shared": false, "lanes": NaN, "ends": -Infinity}'))
time.sleep(1000)
