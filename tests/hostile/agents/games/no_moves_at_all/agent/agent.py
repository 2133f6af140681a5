"""Returns objects that are no move."""

import itertools
import math

import numpy


class Odd:
    def __repr__(self):
        raise SystemExit(0)


class Worse:
    def __index__(self):
        return "3"


THINGS = itertools.cycle([None, "3", 2.5, [3], math.nan, Odd(), b"3", numpy.array([3, 3]), numpy.float64(3), Worse()])


class Agent:
    def act(self, observation):
        return next(THINGS)
