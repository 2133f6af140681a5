"""Leaves children that are stopped, that nobody stops with a signal, and that adopt each other's orphans."""

import ctypes
import os
import signal
import time

libc = ctypes.CDLL(None, use_errno=True)


def leave(depth):
    if os.fork():
        return
    os.setsid()
    libc.prctl(36, 1, 0, 0, 0)  # adopts its descendants' orphans
    libc.prctl(15, b"left-behind", 0, 0, 0)
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            continue
    if depth:
        leave(depth - 1)
    os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        time.sleep(60)


for _ in range(2):
    leave(1)


class Agent:
    def act(self, observation):
        return 0
