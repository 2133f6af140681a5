"""Takes huge pages and looks for counters in /sys that change: all containers would see them, and could talk by them.

Passes only if nothing under /sys changes, but for the container's own limits.
"""

import ctypes
import mmap
import os

MADV_HUGEPAGE = 14
SIZE = 32 << 20


def counters():
    return {
        path: read(path)
        for folder, _, names in os.walk("/sys")
        if not folder.startswith("/sys/fs/cgroup")
        for path in (os.path.join(folder, name) for name in names)
    }


def read(path):
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            return file.read(4096)
    except OSError:
        return b""


def take():
    room = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = ctypes.addressof(ctypes.c_char.from_buffer(room))
    ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(SIZE), MADV_HUGEPAGE)
    for place in range(0, SIZE, mmap.PAGESIZE):
        room[place] = 1
    return room


before = counters()
room = take()
now = counters()
changed = {path: (before[path], now.get(path)) for path in before if now.get(path) != before[path]}
assert before and not changed, changed
print("no counter changes", flush=True)


class Agent:
    def act(self, observation):
        return 0
