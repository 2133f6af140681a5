"""What an untrusted container may do and see: every setting that holds an agent, in one place.

System calls are in `seccomp`, hidden files of /proc and /sys in `hidden_files`, limits of challenge.yml in
`evaluator/model/config/limits.py`.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from docker.types import DeviceRequest, LogConfig, Ulimit

from evaluator.host.docker.gvisor_runtime import GVISOR_RUNTIME
from evaluator.host.docker.seccomp import seccomp_profile
from evaluator.host.usage import MIB
from evaluator.model.config.limits import Limits

# A range that nobody else uses, by systemd's table of ids (https://systemd.io/UIDS-GIDS/).
UIDS = range(1_879_048_192, 2_147_483_647)
NARROW_UIDS = range(10_000, 60_000)
# The kernel's usual period, in microseconds.
CPU_PERIOD = 100_000
# Processors until the first observation, while an agent imports; that time counts towards its `cpu_seconds`.
START_CPUS = 1.0
# A core of one byte: with any other limit, also of none, the kernel starts the machine's handler of crashes if it has one,
# as root and outside of every limit. `seccomp` lets nobody change it.
# Queued signals, and so timers: each takes one, and otherwise there may be as many as the machine's memory allows, some
# 64,000 for 16 GiB. Before Linux 6.13 the kernel restarts each whose signal is ignored at every tick, also while its owner
# sleeps, so that interrupts leave nobody a processor. Usual signals need no place in the queue.
ULIMITS = {"nofile": 1024, "core": 1, "msgqueue": 0, "sigpending": 128}
# What one TCP socket may hold, and how many connections may wait to be accepted: see `MOST_SOCKETS` in `resource_watchdog`.
SYSCTLS = {
    "net.core.somaxconn": "128", "net.ipv4.tcp_rmem": "4096 131072 131072", "net.ipv4.tcp_wmem": "4096 16384 131072",
}  # fmt: skip
# gVisor's own kernel is in the same cgroup: with a limit of 50 it dies at start when its runtime needs another thread.
GVISOR_THREADS = 200


@dataclass(frozen=True, kw_only=True)
class ContainerOptions:
    """What differs between containers."""

    runtime: str | None
    """The engine's runtime; None for its default."""
    binds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Mounts: a path on the host to its `bind` and `mode`."""
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: bool = False
    """Whether standard input is the channel."""
    loopback: bool = False
    """Whether it may open sockets of its own network, which has nothing but itself."""
    processors: tuple[int, ...] = ()
    """The processors that it may use; all if empty."""
    working_dir: str | None = None
    gpus: int = 0


def gpu_requests(gpus: int) -> list[DeviceRequest] | None:
    """What `docker run --gpus` asks for: cards for computing and their driver's figures, not for displays or video."""
    return [DeviceRequest(count=gpus, capabilities=[["gpu", "compute", "utility"]])] if gpus else None


def cpu_quota(cpus: float) -> int:
    """Microseconds of processor time in each period."""
    return int(cpus * CPU_PERIOD)


def random_user(*, is_mapped: bool) -> str:
    """A random uid and gid, different for each container.

    The kernel limits inotify instances, pages of pipes and pending signals for each uid, so containers of one uid could
    take them from each other.

    Args:
        is_mapped: whether the engine gives containers a user namespace, which has only the first 65,536 ids.
    """
    number = str(secrets.choice(NARROW_UIDS if is_mapped else UIDS))
    return f"{number}:{number}"


def untrusted_host_config(limits: Limits, options: ContainerOptions) -> dict[str, Any]:
    """The engine's settings for an untrusted container."""
    is_gvisor = options.runtime == GVISOR_RUNTIME
    kernel_threads = GVISOR_THREADS if is_gvisor else 0
    memory = limits.memory_mib * MIB
    return {
        "network_mode": "none",
        "mem_limit": memory,
        "memswap_limit": memory,
        # Two numbers, since the engine changes them while a container runs, and not the one that stands for both.
        "cpu_period": CPU_PERIOD,
        "cpu_quota": cpu_quota(limits.cpus if is_gvisor else max(limits.cpus, START_CPUS)),
        "pids_limit": limits.pids + kernel_threads,
        "read_only": True,
        "tmpfs": {"/tmp": f"rw,noexec,nosuid,nodev,size={limits.tmpfs_mib}m,mode=1777"},
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges", f"seccomp={seccomp_profile(loopback=options.loopback, is_gvisor=is_gvisor)}"],
        "init": True,
        "cgroupns": "private",
        "ipc_mode": "none",
        "log_config": LogConfig(type="none"),
        # Docker mounts a writable /dev/mqueue in every IPC mode; a limit of no bytes for queues closes it.
        "ulimits": [Ulimit(name=name, soft=most, hard=most) for name, most in ULIMITS.items()],
        "sysctls": dict(SYSCTLS) if options.loopback and not is_gvisor else {},
        "binds": {host: dict(mount) for host, mount in options.binds.items()},
        "runtime": options.runtime,
        "cpuset_cpus": ",".join(map(str, options.processors)) or None,
        "device_requests": gpu_requests(options.gpus),
    }
