"""Registers an interpreter that the kernel would start for programs of the whole host."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
gained = []
os.makedirs("/tmp/formats", exist_ok=True)
if libc.mount(b"none", b"/tmp/formats", b"binfmt_misc", 0, None) == 0:
    gained.append("mount")
for path, words in {
    "/proc/sys/fs/binfmt_misc/register": b":x:E::x::/tmp/x:OCF",
    "/proc/sys/kernel/modprobe": b"/tmp/x",
    "/proc/sys/kernel/core_pattern": b"|/tmp/x",
    "/proc/sys/kernel/hotplug": b"/tmp/x",
    "/sys/kernel/uevent_helper": b"/tmp/x",
    "/proc/sys/kernel/poweroff_cmd": b"/tmp/x",
    "/proc/sys/kernel/usermodehelper/bset": b"0 0",
}.items():
    try:
        descriptor = os.open(path, os.O_WRONLY)
        os.write(descriptor, words)
        gained.append(path)
    except OSError:
        pass
assert not gained, gained
print("the kernel starts nothing for it", flush=True)


class Agent:
    def act(self, observation):
        return 0
