"""Recovers the environment's seed from its first observation: small numbers, times, process ids, hashes and its own seed."""

import hashlib
import os
import time

import numpy


def first(seed):
    """What CartPole shows after a reset with that seed."""
    return numpy.random.Generator(numpy.random.PCG64(numpy.random.SeedSequence(seed))).uniform(-0.05, 0.05, 4).astype("f4")


class Agent:
    looked = False

    def __init__(self, seed):
        self.seed = seed

    def act(self, observation):
        if not Agent.looked:
            Agent.looked = True
            now = int(time.time())
            near = [self.seed + d for d in range(-50, 50)] + [now + d for d in range(-300, 300)] + list(range(20_000))
            near += [os.getpid(), os.getppid(), self.seed ^ 0xFFFFFFFF, time.time_ns(), hash("CartPole-v1") & (1 << 63) - 1]
            for word in ("", "test", "preview", "CartPole-v1", str(self.seed)):
                digest = hashlib.sha256(word.encode()).hexdigest()
                near += [int(digest[:size], 16) for size in (8, 16, 32)]
            hits = [seed for seed in near if seed >= 0 and (first(seed) == observation).all()]
            assert not hits, hits
            print("no seed fits", flush=True)
        return 0
