"""Makes timers and queues signals without end, which the kernel counts for each user."""

import ctypes
import os
import signal

libc = ctypes.CDLL(None, use_errno=True)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN + 5])
timers = queued = 0
handle = ctypes.c_void_p()
while timers < 200_000 and libc.timer_create(1, None, ctypes.byref(handle)) == 0:
    timers += 1
while queued < 200_000 and libc.sigqueue(os.getpid(), int(signal.SIGRTMIN) + 5, ctypes.c_void_p(7)) == 0:
    queued += 1
print("timers and signals end:", timers < 200_000 or queued < 200_000, flush=True)


class Agent:
    def act(self, observation):
        return 0
