"""Asks which pages of shared files are in memory, since another player may have read them."""

import contextlib
import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
path = max(
    (f"/usr/bin/{name}" for name in os.listdir("/usr/bin") if os.path.isfile(f"/usr/bin/{name}")), key=os.path.getsize
)
descriptor = os.open(path, os.O_RDONLY)
pages = os.fstat(descriptor).st_size // 4096
with contextlib.suppress(OSError):
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
start = libc.mmap(None, ctypes.c_size_t(pages * 4096), 1, 2, descriptor, ctypes.c_long(0))
present = (ctypes.c_ubyte * pages)()
if libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(pages * 4096), present) == 0:
    # The kernel says of a file that is somebody else's that all of it is there.
    assert all(value & 1 for value in present), "mincore tells pages apart"
answers = set()
for page in range(0, pages, max(1, pages // 50)):
    try:
        os.preadv(descriptor, [bytearray(1)], page * 4096, os.RWF_NOWAIT)
        answers.add("there")
    except OSError as error:
        answers.add(errno.errorcode[error.errno])
assert len(answers) == 1, answers
print("pages are not told apart", flush=True)


class Agent:
    def act(self, observation):
        return int(observation["action_mask"].argmax())
