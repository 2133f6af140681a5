"""Opens pseudo-terminals, which the kernel counts for the whole machine."""

import os

had = []
try:
    while len(had) < 5000:
        had.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
except OSError as error:
    print("terminals end:", error.strerror, flush=True)
assert len(had) < 1024, len(had)
for descriptor in had:
    os.close(descriptor)


class Agent:
    def act(self, observation):
        return 0
