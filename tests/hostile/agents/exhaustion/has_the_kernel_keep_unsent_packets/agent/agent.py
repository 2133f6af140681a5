"""Begins a packet of 64 KiB in each of many UDP sockets and sends none of them, which counts for nobody: gigabytes in seconds."""

import socket

SOCKETS, BYTES = 400, 65000
kept = []
try:
    while len(kept) < SOCKETS:
        begun = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        begun.connect(("127.0.0.1", 9))
        begun.send(bytes(BYTES), socket.MSG_MORE)
        kept.append(begun)
except OSError as error:
    print(error, flush=True)
print(f"{len(kept)} packets wait to be sent" if kept else "no packet waits", flush=True)


class Agent:
    def act(self, observation):
        return 0
