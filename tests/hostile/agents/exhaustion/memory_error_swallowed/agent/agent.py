"""Is refused memory, says nothing and leaves."""

import os


class Agent:
    def act(self, observation):
        try:
            bytearray(1 << 60)
        except MemoryError:
            os._exit(0)
