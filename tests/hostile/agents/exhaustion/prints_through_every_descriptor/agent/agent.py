"""Prints to everything that may lead to the log, from many children at once."""

import os
import time

WAYS = ("/proc/1/fd/1", "/proc/1/fd/2", "/dev/stdout", "/dev/stderr", "/dev/console", "/dev/tty", "/proc/self/fd/2")
for _ in range(10):
    if os.fork() == 0:
        ends = []
        for way in WAYS:
            try:
                ends.append(os.open(way, os.O_WRONLY))
            except OSError:
                pass
        while True:
            for end in [*ends, 1, 2]:
                try:
                    os.write(end, b"flood " * 1000)
                except OSError:
                    pass
time.sleep(60)
