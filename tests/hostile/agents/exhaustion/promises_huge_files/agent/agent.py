"""Makes files of an exabyte without a byte in them, reserves room that is not there, and maps them."""

import mmap
import os

descriptor = os.open("/tmp/hole", os.O_RDWR | os.O_CREAT)
for size in (1 << 60, 1 << 50, 1 << 40, 1 << 35):
    try:
        os.truncate(descriptor, size)
        break
    except OSError as error:
        print("truncate:", error.strerror, flush=True)
try:
    os.posix_fallocate(descriptor, 0, 1 << 33)
    raise AssertionError("8 GiB were reserved")
except OSError as error:
    print("fallocate:", error.strerror, flush=True)
os.ftruncate(descriptor, 0)
os.ftruncate(descriptor, 1 << 33)
room = mmap.mmap(descriptor, 1 << 33)
assert room[:10] == bytes(10)
print("huge and empty", flush=True)


class Agent:
    def act(self, observation):
        return 0
