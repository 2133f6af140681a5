"""Asks with each byte that it sends itself for the time of sending, which nobody reads: 400 KiB wait in each socket."""

import contextlib
import socket
import struct
import time

CONNECTIONS, BYTES, SECONDS = 300, 30, 4
# SO_TIMESTAMPING: when it was sent and acknowledged.
ASKS = [(socket.SOL_SOCKET, 37, struct.pack("I", 1 << 1 | 1 << 8 | 1 << 9))]
server = socket.create_server(("127.0.0.1", 0))
kept = []
for _ in range(CONNECTIONS):
    kept += [socket.create_connection(server.getsockname()), server.accept()[0]]
    for near in kept[-2:]:
        for _ in range(BYTES):
            with contextlib.suppress(BlockingIOError):
                near.sendmsg([b"x"], ASKS, socket.MSG_DONTWAIT)
print(f"{len(kept)} sockets keep times", flush=True)
time.sleep(SECONDS)


class Agent:
    def act(self, observation):
        return 0
