"""Calls the abstract sockets of the engine's own helpers, which a container with the host's network would reach."""

import os
import socket

reached, tried = [], 0
names = {b"\0/containerd-shim/moby/x/shim.sock", b"\0/run/containerd/s/x", b"\0/tmp/dbus-x", b"\0/tmp/.X11-unix/X0"}
try:
    for line in open("/proc/net/unix").read().splitlines()[1:]:
        path = line.split()[-1]
        if path.startswith("@"):
            names.add(b"\0" + path[1:].encode())
except OSError:
    pass
for name in names:
    tried += 1
    with socket.socket(socket.AF_UNIX) as door:
        try:
            door.connect(name)
            reached.append(name)
        except OSError:
            pass
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys")):
        continue
    for file in files:
        path = f"{folder}/{file}"
        try:
            import stat

            if stat.S_ISSOCK(os.lstat(path).st_mode) and path != "/channel/agent.sock":
                reached.append(path)
        except OSError:
            pass
assert not reached, reached
print("nobody else listens", flush=True)


class Agent:
    def act(self, observation):
        return 0
