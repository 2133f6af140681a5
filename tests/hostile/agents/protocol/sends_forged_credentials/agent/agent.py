"""Sends the credentials of another process along with its answer."""

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


import socket  # noqa: E402

refused = 0


class Agent:
    def act(self, observation):
        global refused
        for name in os.listdir("/proc/self/fd"):
            try:
                if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                    with socket.socket(fileno=os.dup(int(name))) as door:
                        door.sendmsg([b""], [(socket.SOL_SOCKET, 2, struct.pack("3i", 1, 0, 0))])
            except OSError:
                refused += 1
        return 0
