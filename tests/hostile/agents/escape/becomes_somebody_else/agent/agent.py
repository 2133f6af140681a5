"""Changes its user, groups and capabilities by every call there is, and asks for them on execution."""

import ctypes
import os
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
before = os.getresuid(), os.getresgid(), sorted(os.getgroups())
for change in (
    lambda: os.setuid(0),
    lambda: os.setgid(0),
    lambda: os.setresuid(0, 0, 0),
    lambda: os.setresgid(0, 0, 0),
    lambda: os.setreuid(0, 0),
    lambda: os.setregid(0, 0),
    lambda: os.setgroups([0, 998, 999]),
    lambda: os.initgroups("root", 0),
    lambda: os.setuid(65534),
    lambda: os.setuid(before[0][0] + 1),
    lambda: os.chown("/tmp", 0, 0),
):
    try:
        change()
    except OSError:
        continue
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
every = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
assert libc.syscall(126, header, every) != 0 or True
libc.prctl(47, 2, 21, 0, 0)  # an ambient capability
libc.prctl(28, 0, 0, 0, 0)  # securebits
assert (os.getresuid(), os.getresgid(), sorted(os.getgroups())) == before
status = subprocess.run(["/bin/cat", "/proc/self/status"], capture_output=True, text=True).stdout
held = [line for line in status.splitlines() if line.startswith("Cap") and int(line.split()[1], 16)]
assert not held, held
print("it is who it was", flush=True)


class Agent:
    def act(self, observation):
        return 0
