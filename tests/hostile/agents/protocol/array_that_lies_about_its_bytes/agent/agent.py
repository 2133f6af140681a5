"""Returns an array whose bytes, size and type are another than it says."""

import numpy


class Liar(numpy.ndarray):
    def tobytes(self, *args, **more):
        return b"\xff" * 64

    @property
    def dtype(self):
        return numpy.dtype("<f4")

    @property
    def shape(self):
        return (1,)

    @property
    def nbytes(self):
        return 4

    def __array__(self, *args, **more):
        return numpy.full((1,), numpy.nan, "<f4")


class Agent:
    def act(self, observation):
        return numpy.zeros(1000, "<f8").view(Liar)
