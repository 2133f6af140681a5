"""What a container does not see of its machine in /proc, /sys and /dev.

Linux shows most of both to every container: the boot id, the kernel's command line, disks, and counters of everything that
runs beside it. The engine puts nothing in place of the paths named here, and our own files in place of a few that programs
expect. gVisor has its own /proc and /sys, and needs none of this.

What no engine can hide: `/proc/self/mountinfo`, `/proc/cpuinfo`, the system call sysinfo, clocks, how long things take,
`softnet_stat`, `sockstat`, `protocols` and `stat/rt_cache` in `/proc/PID/net`, which count the packets, TCP sockets and
looked-up routes of the machine, and `smaps`, `smaps_rollup`, `numa_maps` and `pagemap`, which show whether another process
has mapped the same page of a file.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from evaluator.host.usage import MIB
from evaluator.model.config.limits import Limits

# Everything that some kernel has at the top of /proc, but what processes need: their own folders, the list of file systems,
# the processor, the kernel's version, and /proc/cgroups, by which Java finds its limits.
_PROC = """
    acpi allocinfo asound bootconfig buddyinfo bus cmdline config.gz consoles crypto devices diskstats dma driver
    dynamic_debug execdomains fb fs interrupts iomem ioports irq kallsyms kcore key-users keys kmsg kpagecgroup kpagecount
    kpageflags latency_stats locks mdstat misc modules mtrr pagetypeinfo partitions pressure sched_debug schedstat scsi
    slabinfo softirqs swaps sysrq-trigger sysvipc timer_list timer_stats tty version_signature vmallocinfo vmstat zoneinfo
"""
# Settings of the kernel stay, its counters and what tells machines apart do not.
_PROC_SYS = """
    debug dev fs/aio-nr fs/binfmt_misc fs/dentry-negative fs/dentry-state fs/file-nr fs/inode-nr fs/inode-state fs/quota
    kernel/acct kernel/pty kernel/random/boot_id kernel/random/entropy_avail kernel/usermodehelper
    net/netfilter/nf_conntrack_count user
"""
_SYS = "block bus class dev firmware hypervisor module power"
# Terminals. What is written to one is worked off by threads of the kernel, whose time counts for no container: an agent that
# used 0.6 processor seconds made them use 14, and all others on the machine wait meanwhile. An agent has no use for any.
_DEV = "pts"
# What stays under /sys: the processor's topology and caches, the container's limits, and the kernel's sizes of pages.
_KEPT_FOLDERS: Mapping[str, tuple[str, ...]] = {
    "/sys": ("devices", "fs", "kernel"),
    "/sys/devices": ("system",),
    "/sys/devices/system": ("cpu",),
    "/sys/fs": ("cgroup",),
    "/sys/kernel": ("mm",),
    "/sys/kernel/mm": ("hugepages", "transparent_hugepage"),
}
# Counters of the whole machine among them: of processors, and of huge pages, by which two containers could also talk.
_COUNTERS = (
    *(f"devices/system/cpu/**/{name}" for name in ("acpi_cppc", "cpufreq", "cpuidle", "power", "thermal_throttle")),
    "kernel/mm/hugepages/*/*",
    "kernel/mm/transparent_hugepage/*/stats",
    "kernel/mm/transparent_hugepage/khugepaged",
)


def hidden_paths(machine: Path = Path("/")) -> list[str]:
    """Every path that the engine must hide, sorted; paths that a machine does not have do no harm.

    `machine`: the root of the machine whose /sys is listed. An engine elsewhere hides what both have.
    """
    named = [f"/proc/{name}" for name in _PROC.split()]
    named += [f"/proc/sys/{name}" for name in _PROC_SYS.split()]
    named += [f"/sys/{name}" for name in _SYS.split()]
    named += [f"/dev/{name}" for name in _DEV.split()]
    named += [f"/{path.relative_to(machine)}" for pattern in _COUNTERS for path in (machine / "sys").glob(pattern)]
    return sorted({*named, *_not_kept(machine)})


def _not_kept(machine: Path) -> Iterator[str]:
    for folder, kept in _KEPT_FOLDERS.items():
        here = machine / folder.lstrip("/")
        if here.is_dir():
            yield from (f"{folder}/{path.name}" for path in here.iterdir() if path.name not in kept)


def replacement_files(limits: Limits) -> dict[str, str]:
    """Files that programs read to size themselves: path in the container to a text that says nothing of the machine."""
    kib = limits.memory_mib * MIB // 1024
    processors = "".join(f"cpu{index}{' 0' * 10}\n" for index in range(os.cpu_count() or 1))
    memory = {"MemTotal": kib, "MemFree": kib, "MemAvailable": kib, "Buffers": 0, "Cached": 0, "SwapTotal": 0, "SwapFree": 0}
    return {
        "/proc/loadavg": "0.00 0.00 0.00 0/0 0\n",
        "/proc/meminfo": "".join(f"{name + ':':<16}{value:>8} kB\n" for name, value in memory.items()),
        "/proc/stat": f"cpu {' 0' * 10}\n{processors}intr 0\nctxt 0\nbtime 0\nprocesses 0\nprocs_running 1\n"
        "procs_blocked 0\n",
        "/proc/uptime": "1.00 1.00\n",
    }
