"""Reads addresses, routes, neighbours and connections of the host from /proc/net and /sys/class/net."""

import os

links = set(os.listdir("/sys/class/net")) if os.path.exists("/sys/class/net") else set()
assert links <= {"lo"} or all(
    name
    in (
        "lo",
        "bonding_masters",
        "tunl0",
        "sit0",
        "ip6tnl0",
        "gre0",
        "gretap0",
        "erspan0",
        "ip_vti0",
        "ip6_vti0",
        "ip6gre0",
        "teql0",
        "dummy0",
    )
    for name in links
), links
seen = []
for name in (
    "arp",
    "route",
    "ipv6_route",
    "tcp",
    "tcp6",
    "udp",
    "udp6",
    "raw",
    "packet",
    "netlink",
    "if_inet6",
    "fib_trie",
    "rt_cache",
):
    try:
        lines = open(f"/proc/net/{name}").read().splitlines()
    except OSError:
        continue
    rest = [
        line
        for line in lines
        if not any(word in line.lower() for word in ("lo", "sk ", "iface", "local_address", "ip address"))
    ]
    if name in ("arp", "route", "tcp", "udp", "tcp6", "udp6", "raw") and len(rest) > 0:
        seen.append((name, rest[:2]))
assert not seen, seen
print("there is no network", flush=True)


class Agent:
    def act(self, observation):
        return 0
