"""Makes epoll sets that watch each other, and timers that go off without a pause."""

import ctypes
import select

libc = ctypes.CDLL(None, use_errno=True)
sets = []
try:
    while len(sets) < 400:
        sets.append(select.epoll())
    for one in sets:
        for other in sets:
            if one is not other:
                try:
                    one.register(other.fileno(), select.EPOLLIN | select.EPOLLET)
                except OSError:
                    break
except OSError as error:
    print(error.strerror)
went_off = 0
for _ in range(300):
    timer = libc.timerfd_create(1, 0)
    if timer < 0:
        break
    libc.timerfd_settime(timer, 0, (ctypes.c_long * 4)(0, 1000, 0, 1000), None)
    went_off += 1
print("timers:", went_off > 100, flush=True)
for one in sets:
    one.close()


class Agent:
    def act(self, observation):
        return 0
