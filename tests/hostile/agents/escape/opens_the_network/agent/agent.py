"""Connects to addresses, names, the cloud's metadata service and the host's engine."""

import errno
import os
import socket

for family, address in (
    (socket.AF_INET, ("1.1.1.1", 443)),
    (socket.AF_INET, ("169.254.169.254", 80)),
    (socket.AF_INET, ("172.17.0.1", 22)),
    (socket.AF_INET6, ("2606:4700:4700::1111", 443)),
):
    door = None
    try:
        door = socket.socket(family, socket.SOCK_STREAM)
        door.settimeout(0.2)
        door.connect(address)
    except OSError as error:
        print(address[0], error, flush=True)
    else:
        raise AssertionError(f"{address} answers")
try:
    socket.getaddrinfo("example.com", 443)
except OSError as error:
    print("DNS:", error, flush=True)
else:
    raise AssertionError("names are resolved")
try:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.sendto(b"x", ("8.8.8.8", 53))
except OSError as error:
    print("UDP:", error, flush=True)
else:
    raise AssertionError("a packet was sent")
for kind, protocol in ((socket.SOCK_RAW, socket.IPPROTO_ICMP), (socket.SOCK_DGRAM, socket.IPPROTO_ICMP)):
    try:
        socket.socket(socket.AF_INET, kind, protocol).sendto(b"x" * 8, ("8.8.8.8", 0))
    except OSError:
        continue
    raise AssertionError("ping is possible")
routes = open("/proc/net/route").read().splitlines()[1:] if os.path.exists("/proc/net/route") else []
assert not routes, routes
for place in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"):
    assert not os.path.exists(place), place
# Abstract sockets of the host live in its network name space, not here.
abstract = [line.split()[-1] for line in open("/proc/net/unix").read().splitlines()[1:] if "@" in line]
assert not abstract, abstract


class Agent:
    def act(self, observation):
        return 0
