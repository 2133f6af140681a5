"""Hangs, raises and writes to the channel in exit handlers and finalisers."""

import atexit
import os
import struct
import threading
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


@atexit.register
def never():
    say(frame(4, bytes(16)))
    time.sleep(1000)


threading.Thread(target=time.sleep, args=(1000,)).start()


class Agent:
    def __del__(self):
        print("not yet", flush=True)
        raise SystemExit(0)

    def act(self, observation):
        return 0
