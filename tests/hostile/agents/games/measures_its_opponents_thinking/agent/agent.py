"""Reads what the kernel tells of the machine while its opponent thinks: its pressure, its statistics, its schedule."""

import os

leaks = []
for pid in range(1, 400):
    for name in ("stat", "schedstat", "io", "wchan", "stack", "syscall"):
        if str(pid) in os.listdir("/proc"):
            break
        try:
            open(f"/proc/{pid}/{name}").read(1)
            leaks.append((pid, name))
        except OSError:
            pass
assert not leaks, leaks
for path in (
    "/sys/fs/cgroup/cpuacct/docker",
    "/sys/fs/cgroup/docker",
    "/sys/fs/cgroup/system.slice",
    "/sys/kernel/debug/sched",
):
    assert not os.path.exists(path), path
print("nobody else is measured", flush=True)


class Agent:
    def act(self, observation):
        return int(observation["action_mask"].argmax())
