"""Sends file descriptors along with its answer."""

import os
import socket
import struct


class Agent:
    def act(self, observation):
        for name in os.listdir("/proc/self/fd"):
            if os.path.exists(f"/proc/self/fd/{name}") and os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                with socket.socket(fileno=os.dup(int(name))) as door:
                    socket.send_fds(door, [struct.pack("<IB2q", 16, 4, 0, 0)], [0, 1, 2])
        return 0
