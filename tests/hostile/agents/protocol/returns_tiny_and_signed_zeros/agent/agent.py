"""Returns numbers that machines treat differently: signed zeros, denormal numbers and the smallest steps."""

import numpy

ODD = (-0.0, 1e-45, -1e-45, 1.1754942e-38, 0.99999994, -0.99999994)


class Agent:
    asked = 0

    def act(self, observation):
        Agent.asked += 1
        return numpy.array([ODD[Agent.asked % len(ODD)]], "<f4")
