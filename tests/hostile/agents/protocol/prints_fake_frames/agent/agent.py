"""Prints what looks like answers, errors and a handshake."""

import os
import struct
import sys

for op in (2, 4, 6):
    data = struct.pack("<IBqq", 16, op, 1, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.buffer.write(data)
        stream.flush()
    os.write(1, data)
    os.write(2, b"\x01\x00\x00\x00\x00\x00\x00\x15" + data)


class Agent:
    def act(self, observation):
        os.write(1, struct.pack("<IBqq", 16, 4, 1, 1))
        return 0
