"""Plays integers that overflow, or wrap round to a legal move."""

import itertools

NUMBERS = itertools.cycle([10**30, -(10**30), 2**63, -(2**63), 2**64, 2**64 + 1, -(2**64) + 1, 2**53, 1 << 100_000])


class Agent:
    def act(self, observation):
        return next(NUMBERS)
