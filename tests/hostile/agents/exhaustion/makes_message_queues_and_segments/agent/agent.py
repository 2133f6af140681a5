"""Makes System V and POSIX queues, semaphores and shared memory, which outlive a process."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
librt = ctypes.CDLL("librt.so.1", use_errno=True)
made = [
    name
    for name, call in {
        "shmget": lambda: libc.shmget(0, 1 << 20, 0o1666),
        "msgget": lambda: libc.msgget(0, 0o1666),
        "semget": lambda: libc.semget(0, 100, 0o1666),
        "mq_open": lambda: librt.mq_open(b"/queue", os.O_CREAT | os.O_RDWR, 0o666, None),
        "shm_open": lambda: librt.shm_open(b"/memory", os.O_CREAT | os.O_RDWR, 0o666),
    }.items()
    if call() >= 0
]
assert not made, made
print("nothing outlives it", flush=True)


class Agent:
    def act(self, observation):
        return 0
