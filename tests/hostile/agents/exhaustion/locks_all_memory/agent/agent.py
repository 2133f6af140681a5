"""Locks its memory and asks for the machine's huge pages."""

import ctypes
import mmap
import resource

libc = ctypes.CDLL(None, use_errno=True)
locked = 0
room = mmap.mmap(-1, 100 << 20)
start = ctypes.addressof(ctypes.c_char.from_buffer(room))
while locked < 100 and libc.mlock(ctypes.c_void_p(start + (locked << 20)), ctypes.c_size_t(1 << 20)) == 0:
    locked += 1
limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
assert limit < 0 or locked << 20 <= limit, (locked, limit)
huge = 0
try:
    while huge < 20:
        page = mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)
        huge += 1
except OSError:
    pass
print("huge pages:", huge, "locked:", locked, "MiB", flush=True)


class Agent:
    def act(self, observation):
        return 0
