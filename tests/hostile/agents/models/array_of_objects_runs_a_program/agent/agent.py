"""Brings an array of numpy whose elements are pickles that run a program."""

import numpy

array = numpy.load("/submission/weights.npy", allow_pickle=True)
print("loaded", len(array), flush=True)


class Agent:
    def act(self, observation):
        return 0
