"""Brings an array whose header is nested so deep that reading it exhausts the interpreter's stack."""

import numpy

numpy.load("/submission/weights.npy", max_header_size=10**9)


class Agent:
    def act(self, observation):
        return 0
