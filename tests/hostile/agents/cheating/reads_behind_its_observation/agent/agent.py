"""Reads the memory in which its observation lies, for later observations, rewards and seeds."""

import gc


class Agent:
    def __init__(self, seed):
        self.seed = seed
        self.seen = 0

    def act(self, observation):
        behind, base = 0, observation
        while getattr(base, "base", None) is not None:
            base = base.base
            behind += 1
        whole = bytes(memoryview(base).cast("B")) if not isinstance(base, (bytes, bytearray)) else bytes(base)
        # A count, a head for each live episode, and its observation of 16 bytes: nothing else.
        lanes = int.from_bytes(whole[:4], "little")
        assert len(whole) <= max(8 + lanes * (8 + 16) + 8, 64), (len(whole), lanes)
        self.seen += 1
        if self.seen == 1:
            print("behind it lies only what it was sent", flush=True)
        return 0
