"""Brings an array whose header claims a million million numbers and holds none."""

import numpy

try:
    numpy.load("/submission/weights.npy")
except ValueError as error:
    print("refused:", error)
    raise MemoryError from error
