"""Plays negative columns, which Python would count from the other end."""

import itertools

NUMBERS = itertools.cycle([-2, -1, 7, -7])


class Agent:
    def act(self, observation):
        return next(NUMBERS)
