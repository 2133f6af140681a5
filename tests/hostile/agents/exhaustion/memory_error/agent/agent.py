"""Raises MemoryError after it was refused memory."""


class Agent:
    def act(self, observation):
        return len(bytearray(1 << 60))
