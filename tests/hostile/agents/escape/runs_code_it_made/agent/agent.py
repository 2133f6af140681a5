"""Makes a program in every place that may be written, and in memory, and starts it in every way that the kernel has."""

import ctypes
import mmap
import os
import platform
import shutil
import tempfile
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
column = 0 if platform.machine() == "x86_64" else 1
EXECVEAT, MEMFD = (322, 281)[column], (319, 279)[column]
EMPTY_PATH = 0x1000
PROGRAM = Path("/bin/true").read_bytes()
IS_GVISOR = "gvisor" in Path("/proc/cmdline").read_text()


def starts(action):
    child = os.fork()
    if child == 0:
        try:
            action()
        except OSError:
            pass
        os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def ways(path, descriptor):
    arguments = (ctypes.c_char_p * 2)(b"true")
    yield "execve of a descriptor", lambda: os.execv(f"/proc/self/fd/{descriptor}", ["true"])
    yield "execveat", lambda: libc.syscall(EXECVEAT, descriptor, b"", arguments, None, EMPTY_PATH)
    if path:
        yield "execve", lambda: os.execv(path, ["true"])
        yield "execve by way of the root", lambda: os.execv(f"/proc/self/root{path}", ["true"])
        if not IS_GVISOR:
            # gVisor maps files as code wherever they lie, which is no more than code in memory.
            yield "the loader", lambda: os.execv("/lib64/ld-linux-x86-64.so.2", ["ld.so", path])


def made():
    """Programs by path and descriptor."""
    for folder in (
        "/tmp",
        "/dev/shm",
        "/dev",
        "/dev/mqueue",
        "/run",
        "/var/tmp",
        "/home",
        "/submission",
        "/channel",
        "/opt",
        "/",
    ):
        try:
            descriptor, path = tempfile.mkstemp(dir=folder)
        except OSError:
            continue
        os.write(descriptor, PROGRAM)
        os.close(descriptor)
        os.chmod(path, 0o755)
        yield path, os.open(path, os.O_RDONLY)
    try:
        nameless = os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o755)
    except OSError:
        pass
    else:
        os.write(nameless, PROGRAM)
        yield None, nameless
    for flags in (0, 1, 8, 16):  # MFD_CLOEXEC, MFD_NOEXEC_SEAL, MFD_EXEC
        descriptor = libc.syscall(MEMFD, b"program", flags)
        if descriptor >= 0:
            os.write(descriptor, PROGRAM)
            yield None, descriptor


places = []
for path, descriptor in made():
    places.append(path)
    for name, way in ways(path, descriptor):
        assert not starts(way), (path, name)
assert [os.path.dirname(path) for path in places if path] == ["/tmp"], places

if not IS_GVISOR:
    library = next(line.split()[5] for line in open("/proc/self/maps") if ".so" in line)
    shutil.copy(library, "/tmp/library.so")
    try:
        ctypes.CDLL("/tmp/library.so")
    except OSError:
        pass
    else:
        raise AssertionError("a library in /tmp was loaded")
    with open("/tmp/library.so", "rb") as file:
        try:
            mmap.mmap(file.fileno(), mmap.PAGESIZE, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
        except OSError:
            pass
        else:
            raise AssertionError("a file in /tmp was mapped as code")
print("nothing that it made was run", flush=True)


class Agent:
    def act(self, observation):
        return 0
