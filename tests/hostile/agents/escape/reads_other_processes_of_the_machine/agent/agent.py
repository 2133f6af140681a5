"""Looks for processes of the host, of the engine and of other containers, and signals what it finds."""

import os
import signal

mine = {int(name) for name in os.listdir("/proc") if name.isdigit()}
assert len(mine) <= 3, mine
reached = []
for pid in [*range(1, 2000), 4194303, -1 & 0x7FFF]:
    if pid in mine:
        continue
    try:
        os.kill(pid, 0)
        reached.append(pid)
    except OSError:
        pass
    try:
        open(f"/proc/{pid}/cmdline").read()
        reached.append(pid)
    except OSError:
        pass
assert not reached, reached
print("nobody else runs", flush=True)


class Agent:
    def act(self, observation):
        return 0
