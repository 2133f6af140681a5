"""Catches its MemoryError and ends with exit code 0."""

import os


class Agent:
    def act(self, observation):
        try:
            bytearray(1 << 60)
        except MemoryError:
            os._exit(0)
