"""Has the kernel keep 128 KiB of options for each of its sockets, which count for nobody: gigabytes in some seconds."""

import socket
import struct

# Numbers of the kernel that Python does not name.
IPV6_2292PKTOPTIONS, IPV6_FLOWLABEL_MGR, TCP_MD5SIG = 6, 32, 14
TRIES = {
    "control messages for every packet": (
        socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_IPV6, IPV6_2292PKTOPTIONS,
        struct.pack("=Qii", 65000, 999, 1) + bytes(65000 - 16),
    ),
    "a key": (
        socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, TCP_MD5SIG,
        struct.pack("=HH4s", socket.AF_INET, 0, bytes([10, 0, 0, 1])).ljust(128, b"\0")
        + struct.pack("=BBHi", 0, 0, 4, 0) + b"abcd".ljust(80, b"\0"),
    ),
    "a group": (
        socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
        struct.pack("=4s4si", bytes([239, 1, 1, 1]), bytes(4), 1),
    ),
    "a group of version 6": (
        socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
        struct.pack("=16si", bytes([255, 2]) + bytes(13) + b"\1", 1),
    ),
    "a flow's label, of which the whole machine has 4,096": (
        socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_IPV6, IPV6_FLOWLABEL_MGR,
        struct.pack("=16sIBBHHHI", bytes(15) + b"\1", 0, 0, 1, 1, 0, 60, 0),
    ),
}  # fmt: skip


def keeps(family, kind, level, option, value):
    try:
        socket.socket(family, kind).setsockopt(level, option, value)
    except OSError as error:
        print(error, flush=True)
        return False
    return True


kept = [what for what, arguments in TRIES.items() if keeps(*arguments)]
print(f"the kernel keeps {kept}" if kept else "nothing is kept", flush=True)


class Agent:
    def act(self, observation):
        return 0
