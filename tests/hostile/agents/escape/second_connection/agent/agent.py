"""Connects to the referee a second time and sends data there."""

import os
import socket

doors = []
for _ in range(50):
    door = socket.socket(socket.AF_UNIX)
    door.setblocking(False)
    try:
        door.connect("/channel/agent.sock")
        door.send(b"\xff" * 4096)
    except OSError:
        pass
    doors.append(door)

try:
    os.unlink("/channel/agent.sock")
except OSError as error:
    print("unlink:", error.strerror, flush=True)


class Agent:
    def act(self, observation):
        return 0
