"""Columns that Python would find from the other end, as one arena let them pass."""

import itertools

NUMBERS = itertools.cycle([-2, -1, 7, -7])


class Agent:
    def act(self, observation):
        return next(NUMBERS)
