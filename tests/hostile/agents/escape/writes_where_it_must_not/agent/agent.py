"""Tries to change its own files, the loader and the system."""

import errno
import os

PLACES = (
    "/submission/agent.py",
    "/submission/new",
    "/opt/pullrank/evaluator/wire.py",
    "/opt/pullrank/new",
    "/opt/venv/new",
    "/etc/passwd",
    "/channel/new",
    "/new",
    "/usr/new",
    "/var/tmp/new",
    "/dev/new",
    "/run/new",
    "/home/new",
    "/proc/sys/kernel/core_pattern",
    "/proc/sysrq-trigger",
    "/sys/fs/cgroup/new",
    "/proc/sys/kernel/hostname",
    "/sys/kernel/uevent_helper",
)
for place in PLACES:
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT, 0o666)
    except OSError as error:
        assert error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR), (place, error)
    else:
        try:
            os.write(descriptor, b"1")
        except OSError:
            continue
        raise AssertionError(f"{place} could be written")
for action in (
    lambda: os.remove("/submission/agent.py"),
    lambda: os.rename("/submission", "/tmp/x"),
    lambda: os.symlink("/etc/passwd", "/submission/link"),
    lambda: os.chmod("/submission/agent.py", 0o777),
    lambda: os.remove("/channel/agent.sock"),
):
    try:
        action()
    except OSError:
        continue
    raise AssertionError("a file of ours was changed")
with open("/tmp/allowed", "w") as file:
    file.write("this one is allowed")


class Agent:
    def act(self, observation):
        return 0
