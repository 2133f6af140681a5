"""Reads physical addresses, the kernel's symbols, its log, its keys and its crash memory."""

import os
import struct

seen = []
try:
    with open("/proc/self/pagemap", "rb") as file:
        file.seek((id(seen) // 4096) * 8)
        (entry,) = struct.unpack("<Q", file.read(8))
    if entry & ((1 << 55) - 1):
        seen.append("a physical address")
except (OSError, struct.error):
    pass
for path in (
    "/proc/kcore",
    "/proc/kmsg",
    "/dev/kmsg",
    "/proc/keys",
    "/proc/key-users",
    "/proc/vmallocinfo",
    "/proc/slabinfo",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/sched_debug",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/latency_stats",
    "/sys/kernel/notes",
    "/sys/kernel/debug/tracing/trace",
    "/sys/kernel/tracing/trace",
    "/sys/firmware/dmi/tables/DMI",
    "/sys/kernel/security/lsm",
    "/proc/scsi/scsi",
    "/proc/acpi/wakeup",
):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        words = os.read(descriptor, 64)
    except OSError:
        continue
    if words and path != "/sys/kernel/notes" and path != "/proc/key-users":
        seen.append(path)
try:
    if any(int(line.split()[0], 16) for line in open("/proc/kallsyms").read(4096).splitlines()):
        seen.append("/proc/kallsyms")
except OSError:
    pass
assert not seen, seen
print("the kernel keeps its secrets", flush=True)


class Agent:
    def act(self, observation):
        return 0
