"""Talks to its opponent by locking files that every container shares: all event descriptors are one file, and so is a namespace."""

import ctypes
import fcntl
import os
import select
import struct
import tempfile

libc = ctypes.CDLL(None, use_errno=True)
WORD = 0xC0FFEE
shared = {
    "epoll": select.epoll().fileno(),
    "another epoll": libc.epoll_create1(0),
    "eventfd": libc.eventfd(0, 0),
    "timerfd": libc.timerfd_create(1, 0),
}
for name in os.listdir("/proc/self/ns"):
    try:
        shared[name] = os.open(f"/proc/self/ns/{name}", os.O_RDONLY)
    except OSError:
        continue
shared["a file of its own"] = tempfile.TemporaryFile().fileno()
had = []
for name, descriptor in shared.items():
    for kind in (fcntl.LOCK_EX, fcntl.LOCK_SH):
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            had.append(f"flock of {name}: somebody else holds it")
        except OSError:
            continue
        else:
            had.append(f"flock of {name}")
    for kind in (fcntl.F_RDLCK, fcntl.F_WRLCK):
        for command in (fcntl.F_SETLK, fcntl.F_GETLK):
            for high in (0, 1 << 32):
                try:
                    fcntl.fcntl(descriptor, command | high, struct.pack("hhqqi4x", kind, 0, WORD, 1, 0))
                except BlockingIOError:
                    had.append(f"lock of {name}: somebody else holds it")
                except (OSError, OverflowError):
                    continue
                else:
                    had.append(f"lock of {name}")
assert not [what for what in had if "of its own" not in what], had
print("no lock is shared", flush=True)


class Agent:
    def act(self, observation):
        return int(observation["action_mask"].argmax())
