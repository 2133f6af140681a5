"""Waits for the container's runtime to run its own program, and writes into it through /proc."""

import os

gained = []
for way in (
    "/proc/self/exe",
    "/proc/1/exe",
    "/sbin/docker-init",
    "/dev/init",
    "/opt/venv/bin/python",
    os.path.realpath("/proc/self/exe"),
):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_APPEND):
        try:
            os.close(os.open(way, flags))
            gained.append(way)
        except OSError:
            pass
assert not gained, gained
print("no program can be written", flush=True)


class Agent:
    def act(self, observation):
        return 0
