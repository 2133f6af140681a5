"""Opens files, pipes and event descriptors until none is left, in every process that it may have."""

import ctypes
import os
import time

libc = ctypes.CDLL(None)
for _ in range(20):
    if os.fork() == 0:
        count = 0
        try:
            while True:
                os.open("/dev/null", os.O_RDONLY)
                count += 1
        except OSError as error:
            os.write(2, f"descriptors: {count} {error.strerror}\n".encode())
        while libc.eventfd(0, 0) >= 0 or libc.epoll_create1(0) >= 0:
            pass
        time.sleep(1000)
time.sleep(3)
kept = []
try:
    while True:
        kept.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print("its own:", error.strerror, flush=True)
assert len(kept) < 1024, len(kept)
for descriptor in kept:
    os.close(descriptor)


class Agent:
    def act(self, observation):
        return 0
