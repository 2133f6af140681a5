"""Connects to itself thousands of times, accepts nothing and closes its ends: the kernel keeps what counts for nobody."""

import contextlib
import socket
import time

SERVERS, CONNECTIONS, SECONDS = 20, 120, 4
servers = []
for _ in range(SERVERS):
    servers.append(socket.create_server(("127.0.0.1", 0), backlog=4096))
    for _ in range(CONNECTIONS):
        with socket.socket() as near:
            near.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                near.connect(servers[-1].getsockname())
print(f"{SERVERS * CONNECTIONS} connections wait", flush=True)
time.sleep(SECONDS)


class Agent:
    def act(self, observation):
        return 0
