"""Puts a socket, a link or a folder of its own in the place of the referee's socket, or changes whose it is."""

import os
import socket

PLACE, DOOR = "/channel", "/channel/agent.sock"
before = os.stat(DOOR)
gained = []


def bind(path):
    door = socket.socket(socket.AF_UNIX)
    door.bind(path)
    door.listen()


TRIES = {
    "bind": lambda: bind(f"{PLACE}/mine"), "bind over": lambda: bind(DOOR), "unlink": lambda: os.unlink(DOOR),
    "rename": lambda: os.rename(DOOR, f"{PLACE}/old"), "rename over": lambda: os.rename("/tmp/mine", DOOR),
    "link": lambda: os.link(DOOR, f"{PLACE}/twin"), "link out": lambda: os.link(DOOR, "/tmp/twin"),
    "symlink": lambda: os.symlink("/tmp", f"{PLACE}/x"), "mkdir": lambda: os.mkdir(f"{PLACE}/x"),
    "mkfifo": lambda: os.mkfifo(f"{PLACE}/x"), "chmod": lambda: os.chmod(DOOR, 0), "chmod folder": lambda: os.chmod(PLACE, 0),
    "chown": lambda: os.chown(DOOR, os.getuid(), os.getgid()), "utime": lambda: os.utime(DOOR, (0, 0)),
    "truncate": lambda: os.truncate(DOOR, 0), "open": lambda: os.open(DOOR, os.O_RDWR),
    "attribute": lambda: os.setxattr(DOOR, "user.x", b"x"), "file": lambda: os.open(f"{PLACE}/x", os.O_CREAT | os.O_WRONLY),
    "unnamed": lambda: os.open(PLACE, 0o20200000 | os.O_WRONLY),  # O_TMPFILE
    "above": lambda: os.open(f"{PLACE}/../channel/../channel/x", os.O_CREAT | os.O_WRONLY),
}  # fmt: skip
bind("/tmp/mine")
for name, attempt in TRIES.items():
    try:
        attempt()
    except OSError:
        continue
    gained.append(name)
after = os.stat(DOOR)
assert not gained, gained
assert os.listdir(PLACE) == ["agent.sock"], os.listdir(PLACE)
assert (before.st_ino, before.st_mode, before.st_mtime) == (after.st_ino, after.st_mode, after.st_mtime)
print("the channel stays", flush=True)


class Agent:
    def act(self, observation):
        return 0
