"""Splits its memory into as many mappings as the kernel has room for."""

import ctypes
import mmap

libc = ctypes.CDLL(None, use_errno=True)
size = 400_000 * 4096
room = mmap.mmap(-1, size)
start = ctypes.addressof(ctypes.c_char.from_buffer(room))
split = 0
for at in range(0, size, 8192):
    if libc.mprotect(ctypes.c_void_p(start + at), ctypes.c_size_t(4096), 0) != 0:
        break
    split += 1
print("maps end:", split < 100_000, flush=True)
for at in range(0, size, 8192):
    libc.mprotect(ctypes.c_void_p(start + at), ctypes.c_size_t(4096), 3)


class Agent:
    def act(self, observation):
        return 0
