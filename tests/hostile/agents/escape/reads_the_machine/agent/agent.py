"""Looks for what tells this machine from another, and for counters of what else runs on it. Passes only if there is none."""

import os
import time
from pathlib import Path

OWN = {"self", "thread-self", "net", "mounts", "cpuinfo", "filesystems", "version", "cgroups", "sys"}
STAND_INS = {"loadavg", "meminfo", "stat", "uptime"}
HIDDEN_SETTINGS = (
    "kernel/random/boot_id",
    "fs/file-nr",
    "fs/inode-nr",
    "fs/dentry-state",
    "kernel/pty/nr",
    "user/max_user_namespaces",
)
IS_GVISOR = "gvisor" in Path("/proc/cmdline").read_text()


def content(path):
    try:
        return os.listdir(path) if os.path.isdir(path) else open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb").read(4096)
    except OSError:
        return b""


if not IS_GVISOR:
    names = {name for name in os.listdir("/proc") if not name.isdigit()}
    shown = {name for name in names - OWN - STAND_INS if content(f"/proc/{name}")}
    assert not shown, shown
    settings = [name for name in HIDDEN_SETTINGS if content(f"/proc/sys/{name}")]
    assert not settings, settings
    for folder, kept in (
        ("/sys", {"devices", "fs", "kernel"}),
        ("/sys/devices", {"system"}),
        ("/sys/devices/system", {"cpu"}),
        ("/sys/fs", {"cgroup"}),
        ("/sys/kernel", {"mm"}),
    ):
        shown = {name for name in os.listdir(folder) if name not in kept and content(f"{folder}/{name}")}
        assert not shown, (folder, shown)
    groups = Path("/proc/self/cgroup").read_text().split()
    assert all(line.endswith(":/") for line in groups), groups
else:
    assert "4.4.0" in Path("/proc/version").read_text()
    assert "/var/lib" not in Path("/proc/self/mountinfo").read_text()
    assert not Path("/sys/class/dmi").exists()

before = {name: content(f"/proc/{name}") for name in ("loadavg", "stat")}
assert all(float(word) == 0 for word in before["loadavg"].split()[:3]), before
assert not any(map(int, before["stat"].split(b"\n")[0].split()[1:])), before
assert int(content("/proc/meminfo").split()[1]) <= 512 * 1024, content("/proc/meminfo")
assert float(content("/proc/uptime").split()[0]) < 60, content("/proc/uptime")
until = time.monotonic() + 0.2
while time.monotonic() < until:
    pass
assert {name: content(f"/proc/{name}") for name in before} == before
print("the machine is not to be seen", flush=True)


class Agent:
    def act(self, observation):
        return 0
