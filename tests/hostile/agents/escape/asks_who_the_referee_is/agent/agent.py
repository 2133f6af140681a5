"""Asks the channel for the referee's process and its descriptors, to signal it or to read its memory."""

import ctypes
import os
import signal
import socket
import struct

libc = ctypes.CDLL(None, use_errno=True)
seen = 0
for name in os.listdir("/proc/self/fd"):
    try:
        if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
            continue
        door = socket.socket(fileno=os.dup(int(name)))
        pid, uid, gid = struct.unpack("3i", door.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    except OSError:
        continue
    seen += 1
    inside = {int(name) for name in os.listdir("/proc") if name.isdigit()}
    assert pid == 0 or pid in inside, (pid, uid, gid)
    for option in (77, 59, 31):  # SO_PEERPIDFD, SO_PEERGROUPS, SO_PEERSEC
        try:
            answer = door.getsockopt(socket.SOL_SOCKET, option, 256)
        except OSError:
            continue
        if option == 77:
            descriptor = struct.unpack("i", answer[:4])[0]
            for done in (libc.syscall(438, descriptor, 0, 0), libc.syscall(424, descriptor, signal.SIGSTOP, 0, 0)):
                assert done == -1, "the referee can be reached"
print("the referee is nobody that it knows", flush=True)


class Agent:
    def act(self, observation):
        return 0
