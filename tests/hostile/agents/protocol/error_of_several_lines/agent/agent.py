"""Sends an error with line ends of every kind, to write lines of its own into logs."""

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


class Agent:
    asked = 0

    def act(self, observation):
        Agent.asked += 1
        if Agent.asked == 3:
            say(
                frame(
                    6,
                    json.dumps(
                        {"trouble": "crashed", "message": "a\n::error::b\r\n##[command]c\u2028d\x85e\x0bf", "lane": 0}
                    ).encode(),
                )
            ) or time.sleep(5)
        return 0
