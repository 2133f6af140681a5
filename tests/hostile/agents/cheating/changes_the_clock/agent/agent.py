"""Sets the machine's clock back, by every call and device that sets a clock."""

import ctypes
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
before = time.time()
zero = (ctypes.c_long * 4)(1, 0, 1, 0)
done = {
    "clock_settime": libc.clock_settime(0, zero),
    "clock_settime of another": libc.clock_settime(1, zero),
    "settimeofday": libc.settimeofday(zero, None),
    "adjtimex": libc.syscall(159, (ctypes.c_uint * 52)(0x0100, *[0] * 51)),
    "clock_adjtime": libc.syscall(305, 0, (ctypes.c_uint * 52)(0x0100, *[0] * 51)),
    "time namespace": libc.unshare(0x80),
}
for path in ("/dev/rtc", "/dev/rtc0", "/dev/ptp0", "/proc/self/timens_offsets"):
    try:
        os.write(os.open(path, os.O_WRONLY), b"monotonic 100000 0")
        done[path] = 0
    except OSError:
        pass
changed = [name for name, result in done.items() if result != -1]
assert not changed, changed
assert abs(time.time() - before) < 60
print("time goes on", flush=True)


class Agent:
    def act(self, observation):
        return int(observation[2] + 0.02 * observation[3] > 0)
