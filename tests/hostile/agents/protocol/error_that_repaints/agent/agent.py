"""Sends an error of terminal codes, bidirectional controls, Markdown and HTML."""

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
    def act(self, observation):
        say(
            frame(
                6,
                json.dumps(
                    {
                        "trouble": "crashed",
                        "message": "\x1b[2J\u202etxt.exe\u2066 <img src=x onerror=alert(1)> [click](javascript:x) @everyone \ud800\x00\r\n",
                        "lane": -5,
                    }
                ).encode(),
            )
        )
        time.sleep(1000)
