"""Asks to be told when somebody else reads or changes a folder: by inotify, fanotify, dnotify and leases."""

import ctypes
import fcntl
import os

libc = ctypes.CDLL(None, use_errno=True)
had = []
if libc.inotify_init1(0) >= 0:
    had.append("inotify")
if libc.syscall(300, 0, 0) >= 0:
    had.append("fanotify")
for place in ("/", "/channel", "/submission", "/usr/lib", "/proc"):
    try:
        fcntl.fcntl(os.open(place, os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS | fcntl.DN_MODIFY | fcntl.DN_MULTISHOT)
        had.append(f"dnotify of {place}")
    except OSError:
        pass
for place in ("/submission/agent.py", "/tmp/own"):
    try:
        fcntl.fcntl(os.open(place, os.O_RDONLY | os.O_CREAT), fcntl.F_SETLEASE, fcntl.F_RDLCK)
        had.append(f"a lease of {place}")
    except OSError:
        pass
assert not had, had
print("nobody tells it anything", flush=True)


class Agent:
    def act(self, observation):
        return 0
