"""Calls the kernel as a 32-bit program does, whose numbers a filter for 64 bits does not know."""

import ctypes
import mmap
import os
import platform

libc = ctypes.CDLL(None, use_errno=True)
if platform.machine() == "x86_64":
    # socket(AF_VSOCK, SOCK_STREAM, 0) and unshare by int 0x80: eax is the number, ebx, ecx, edx the arguments.
    for number, first in ((359, 40), (310, 0x10000000), (26, 0), (21, 0)):
        child = os.fork()
        if child == 0:
            code = (
                b"\xb8"
                + number.to_bytes(4, "little")
                + b"\xbb"
                + first.to_bytes(4, "little")
                + b"\xb9\x01\0\0\0\xba\0\0\0\0\xcd\x80\xc3"
            )
            page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            page.write(code)
            call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
            done = call()
            os._exit(0 if done < 0 else 100)
        status = os.waitpid(child, 0)[1]
        assert os.waitstatus_to_exitcode(status) != 100, number
    # The numbers of x32 have this bit.
    for number in (41, 272, 165, 101):
        child = os.fork()
        if child == 0:
            os._exit(100 if libc.syscall(0x40000000 | number, 40, 1, 0) >= 0 else 0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 100, number
print("the other door is shut, too", flush=True)


class Agent:
    def act(self, observation):
        return 0
