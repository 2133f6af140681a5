"""Sends sockets through themselves and drops them, so that only the kernel's collector can find them again."""

import os
import socket

circles = 0
try:
    for _ in range(3000):
        one, other = socket.socketpair()
        for _ in range(8):
            socket.send_fds(one, [b"x"], [one.fileno(), other.fileno()])
            socket.send_fds(other, [b"x"], [one.fileno(), other.fileno()])
        one.close()
        other.close()
        circles += 1
except OSError as error:
    print("stopped by", error.strerror, flush=True)
print("circles end:", circles < 3000, flush=True)
assert len(os.listdir("/proc/self/fd")) < 50


class Agent:
    def act(self, observation):
        return 0
