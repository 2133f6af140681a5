"""Maps address 0, where a faulty kernel would look for what the program put there."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
FIXED, PRIVATE, ANONYMOUS = 0x10, 0x02, 0x20
got = libc.mmap(None, ctypes.c_size_t(4096), 3, FIXED | PRIVATE | ANONYMOUS, -1, ctypes.c_long(0))
assert got == ctypes.c_void_p(-1).value, got
print("address 0 is nobody's", flush=True)


class Agent:
    def act(self, observation):
        return 0
