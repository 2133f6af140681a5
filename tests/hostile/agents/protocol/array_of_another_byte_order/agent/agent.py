"""Returns big-endian, strided, overlapping, read-only and unaligned arrays."""

import numpy

raw = numpy.frombuffer(b"\0" + numpy.full(4, 1.0, "<f4").tobytes(), "<f4", 1, 1)
SHAPES = (
    numpy.full((1,), 1.0, ">f4"),
    numpy.full((9,), 1.0, "<f4")[::9],
    numpy.broadcast_to(numpy.float32(1), (1,)),
    raw,
    numpy.lib.stride_tricks.as_strided(numpy.ones(1, "<f4"), (1,), (0,)),
    numpy.ones((1,), "<f4").view(numpy.matrix)[0].A1,
)


class Agent:
    asked = 0

    def act(self, observation):
        Agent.asked += 1
        return SHAPES[Agent.asked % len(SHAPES)]
