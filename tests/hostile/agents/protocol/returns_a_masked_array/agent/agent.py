"""Returns an array of which one part is hidden, and one of booleans."""

import numpy


class Agent:
    def act(self, observation):
        return numpy.ma.masked_array([True], [True])
