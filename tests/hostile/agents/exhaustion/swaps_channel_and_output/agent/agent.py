"""Puts its log where the channel was and the channel where its log was, and prints."""

import os

ends = []
for name in os.listdir("/proc/self/fd"):
    number = int(name)
    try:
        if number > 2 and os.readlink(f"/proc/self/fd/{number}").startswith(("socket:", "pipe:")):
            ends.append(number)
    except OSError:
        pass


class Agent:
    def act(self, observation):
        kept = os.dup(2)
        for end in ends:
            os.dup2(end, 1)
            os.dup2(end, 2)
            os.write(1, b"this is a log line and no answer\n" * 10)
            os.dup2(kept, end)
        return 0
