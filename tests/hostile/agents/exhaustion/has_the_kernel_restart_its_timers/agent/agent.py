"""Makes timers whose signal it ignores: before Linux 6.13 the kernel restarts each at every tick, also while it sleeps."""

import ctypes
import signal

MOST = 2_000
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGALRM, signal.SIG_IGN)
handle = ctypes.c_void_p()
# Every millisecond, beginning in a millisecond: seconds and nanoseconds of both.
when = (ctypes.c_long * 4)(0, 1_000_000, 0, 1_000_000)
timers = 0
while timers < MOST and libc.timer_create(1, None, ctypes.byref(handle)) == 0:
    libc.timer_settime(handle, 0, ctypes.byref(when), None)
    timers += 1
print(f"timers: {timers}", flush=True)


class Agent:
    def act(self, observation):
        return 0
