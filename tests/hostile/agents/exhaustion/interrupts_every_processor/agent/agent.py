"""Has threads change their pages' rights and ask for barriers, so that the kernel interrupts every processor for it."""

import ctypes
import mmap
import platform
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
MEMBARRIER = 324 if platform.machine() == "x86_64" else 283
SIZE = 1 << 20


def storm(until):
    pages = mmap.mmap(-1, SIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    while time.monotonic() < until:
        for rights in (0, 1, 3):
            libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(SIZE), rights)
        for command in (1, 2, 8, 32):  # everybody's, expedited, our own, and that of processors
            libc.syscall(MEMBARRIER, command, 0, 0)
        libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(SIZE), 4)


class Agent:
    def act(self, observation):
        threads = [threading.Thread(target=storm, args=(time.monotonic() + 0.2,), daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return 0
