"""Shuts down its end of the channel and waits."""

import os
import socket
import time


class Agent:
    def act(self, observation):
        for name in os.listdir("/proc/self/fd"):
            try:
                socket.socket(fileno=os.dup(int(name))).shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        time.sleep(1000)
