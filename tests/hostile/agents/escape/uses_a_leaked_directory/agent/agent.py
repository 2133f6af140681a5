"""Climbs from a directory that the container's runtime may have left open into the host's file system."""

import os
import stat

mine = os.stat("/")
kinds = {}
for owner in ("self", "1"):
    for number in range(256):
        way = f"/proc/{owner}/fd/{number}"
        try:
            kind = os.stat(way)
        except OSError:
            continue
        kinds[way] = kind
        if stat.S_ISDIR(kind.st_mode):
            for up in ("", "/..", "/../../../../../.."):
                there = os.stat(way + up)
                inside = (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
                own = os.path.realpath(way).startswith(("/proc", "/opt/pullrank", "/tmp"))
                assert inside or own, (way, up, os.readlink(way))
start = os.open(".", os.O_RDONLY)
os.fchdir(start)
for _ in range(100):
    os.chdir("..")
there = os.stat(".")
assert (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
os.chdir("/opt/pullrank")
print("no directory leads out", flush=True)


class Agent:
    def act(self, observation):
        return 0
