"""Fills the buffers of as many sockets as it may have, in every child anew."""

import os
import socket
import time

for _ in range(20):
    if os.fork() == 0:
        pairs, written = [], 0
        try:
            while True:
                pair = socket.socketpair()
                pairs.append(pair)
                pair[0].setblocking(False)
                for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                    pair[0].setsockopt(socket.SOL_SOCKET, option, 1 << 30)
                try:
                    while True:
                        written += pair[0].send(bytes(1 << 16))
                except BlockingIOError:
                    pass
        except OSError:
            os.write(2, f"sockets: {len(pairs)}, {written >> 20} MiB\n".encode())
        time.sleep(1000)
time.sleep(6)


class Agent:
    def act(self, observation):
        return 0
