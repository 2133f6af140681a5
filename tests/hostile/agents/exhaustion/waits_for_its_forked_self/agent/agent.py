"""Forks in the way in which the parent sleeps, uninterruptibly, until its child goes on, and has the child stop."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)


class Agent:
    def act(self, observation):
        if libc.vfork() == 0:
            while True:
                libc.pause()
        return 0
