"""Brings weights of a kilobyte that unpack to a gigabyte."""

import numpy

with numpy.load("/submission/weights.npz") as archive:
    weights = archive["weights"]
    weights += 1
raise AssertionError(f"{weights.nbytes} bytes in 128 MiB")
