"""Crashes in a hundred children, for each of which the kernel starts the machine's handler of crashes, outside of every limit."""

import ctypes
import os
import resource

CRASHES = 100


def limit():
    return resource.getrlimit(resource.RLIMIT_CORE)[0]


# With a limit of one byte no handler is started, with any other one it is, also with none at all.
before = limit()
for wanted in (0, resource.RLIM_INFINITY):
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (wanted, wanted))
    except (OSError, ValueError) as error:
        print(error, flush=True)
print(f"limits of a core: {before}, then {limit()}", flush=True)
for _ in range(CRASHES):
    if (child := os.fork()) == 0:
        ctypes.string_at(0)
    os.waitpid(child, 0)


class Agent:
    def act(self, observation):
        return 0
