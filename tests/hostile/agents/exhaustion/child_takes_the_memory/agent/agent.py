"""Has a child process use the memory, so that the child is killed instead of it."""

import os

if os.fork() == 0:
    hoard = bytearray(b"x") * (1 << 30)
    os._exit(0)
_, status = os.wait()
print("child ended by signal", os.WTERMSIG(status), flush=True)


class Agent:
    def act(self, observation):
        return 0
