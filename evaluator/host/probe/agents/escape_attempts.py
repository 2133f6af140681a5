"""Tries what must be refused, one thing after the other, and prints what came of it; then plays like anybody else."""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import platform
import select
import shutil
import socket
import struct
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

ORDERS = json.loads((Path(__file__).parent / "orders.json").read_text())
TMP = Path(os.environ.get("TMPDIR", "/tmp"))
NO_NEW_PRIVILEGES = 39
MIB = 1 << 20
FAMILIES = 64  # More than any kernel has.
REFUSED = (errno.EPERM, errno.ENOSYS)
NEW_USER_NAMESPACE = 0x10000000
OPEN_FILE_LOCK = 37
# Numbers of system calls on x86-64 and on 64-bit ARM.
CALLS = {
    "io_uring_setup": (425, 425), "ptrace": (101, 117), "process_vm_readv": (310, 270), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "keyctl": (250, 219), "add_key": (248, 217), "userfaultfd": (323, 282), "bpf": (321, 280),
    "perf_event_open": (298, 241), "memfd_create": (319, 279), "memfd_secret": (447, 447), "mount": (165, 40),
    "unshare": (272, 97), "setns": (308, 268), "inotify_init1": (294, 26), "shmget": (29, 194), "msgget": (68, 186),
    "mq_open": (240, 180), "vmsplice": (278, 75),
}  # fmt: skip


def write_elsewhere() -> str | None:
    """A file anywhere but in the temporary directory."""
    here = Path(__file__).parent
    for folder in (here, here.parent, *map(Path, ("/", "/opt/pullrank", "/usr", "/etc", "/var/tmp", "/dev/shm"))):
        place = folder / f"pullrank-probe-{os.getpid()}"
        try:
            place.write_text("x")
        except OSError:
            continue
        place.unlink()
        return f"{folder} is writable"
    return None


def run_from_tmp() -> str | None:
    """A program in the temporary directory."""
    program = TMP / "program"
    shutil.copy("/bin/true", program)
    program.chmod(0o755)
    try:
        subprocess.run([str(program)], check=False)
    except OSError:
        return None
    return f"{TMP} is executable"


def reach_network() -> str | None:
    """The evaluator's own machine, and the world."""
    for address in (("127.0.0.1", ORDERS["port"]), ("1.1.1.1", 443), ("169.254.169.254", 80)):
        with contextlib.suppress(OSError), socket.socket() as door:
            door.settimeout(0.3)
            door.connect(address)
            return f"{address[0]}:{address[1]} answers"
    return None


def open_other_sockets() -> str | None:
    """A socket of any family but Unix's; some belong to no network namespace."""
    for family in range(FAMILIES):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            if family == socket.AF_UNIX:
                continue
            with contextlib.suppress(OSError), socket.socket(family, kind):
                return f"a socket of family {family} can be made"
    return None


def enter_the_kernel() -> str | None:
    """System calls that no agent needs, with arguments that do nothing."""
    libc = ctypes.CDLL(None, use_errno=True)
    column = {"x86_64": 0, "aarch64": 1}.get(platform.machine())
    if column is None:
        return f"nobody knows the system calls of {platform.machine()}"
    for name, numbers in CALLS.items():
        ctypes.set_errno(0)
        argument = NEW_USER_NAMESPACE if name == "unshare" else 0xFFFF
        if libc.syscall(numbers[column], argument, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() not in REFUSED:
            return f"{name} can be called"
    with tempfile.TemporaryFile(dir=TMP) as file, contextlib.suppress(OSError):
        fcntl.fcntl(file, OPEN_FILE_LOCK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 1, 1, 0))
        return "a lock can be had that every container is shown"
    with select.epoll() as events, contextlib.suppress(OSError):
        fcntl.flock(events, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return "a file can be locked that the kernel shares among all containers"
    return None


def have_a_user() -> str | None:
    """The user that containers usually are: what the kernel counts for a user would be shared with them."""
    return f"it is user {os.getuid()}, as others are" if os.getuid() in (0, 1000, 65534) else None


def read_host_file() -> str | None:
    """A file that the evaluator has just written for everybody to read."""
    try:
        return f"{Path(ORDERS['canary']).read_text().strip()} can be read"
    except OSError:
        return None


def read_environment() -> str | None:
    """Any variable that the sandbox did not give."""
    strange = sorted(set(os.environ) - set(ORDERS["environment"]))
    return f"{', '.join(strange)[:80]} can be seen" if strange else None


def see_processes() -> str | None:
    """Anybody else's processes."""
    seen = sum(path.name.isdigit() for path in Path("/proc").iterdir())
    return f"{seen} processes can be seen" if seen > 8 else None


def reach_engine() -> str | None:
    """The container engine, which is as good as being root."""
    for place in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as door:
            door.connect(place)
            return f"{place} answers"
    return None


def gain_privileges() -> str | None:
    """Root, capabilities, and programs that give them."""
    libc = ctypes.CDLL(None, use_errno=True)
    status = Path("/proc/self/status").read_text().splitlines()
    capabilities = next((line.split()[1] for line in status if line.startswith("CapEff")), "0")
    if os.getuid() == 0 or libc.setuid(0) == 0:
        return "it is root"
    if int(capabilities, 16):
        return f"it has the capabilities {capabilities}"
    if libc.prctl(NO_NEW_PRIVILEGES, 0, 0, 0, 0) != 1:
        return "a set-user-id program would give it privileges"
    return None


def fill_tmp() -> str | None:
    """More bytes than the temporary directory may hold."""
    hoard = TMP / "hoard"
    try:
        with hoard.open("wb", buffering=0) as file:
            for _ in range(ORDERS["tmpfs_mib"] + 8):
                file.write(bytes(MIB))
    except OSError as error:
        return None if error.errno in (errno.ENOSPC, errno.EFBIG) else str(error)
    finally:
        hoard.unlink(missing_ok=True)
    return f"more than {ORDERS['tmpfs_mib']} MiB were written"


def write_one_mebibyte() -> str | None:
    """What is allowed must go."""
    place = TMP / "allowed"
    place.write_bytes(bytes(MIB))
    right = place.read_bytes() == bytes(MIB)
    place.unlink()
    return None if right else "the bytes came back changed"


TRIES: dict[str, Callable[[], str | None]] = {
    "write elsewhere": write_elsewhere,
    "run from tmp": run_from_tmp,
    "network": reach_network,
    "sockets": open_other_sockets,
    "system calls": enter_the_kernel,
    "user": have_a_user,
    "host files": read_host_file,
    "environment": read_environment,
    "processes": see_processes,
    "engine": reach_engine,
    "privileges": gain_privileges,
    "fill tmp": fill_tmp,
    "allowed write": write_one_mebibyte,
}

for name, attempt in TRIES.items():
    try:
        fault = attempt()
    except (OSError, ValueError, LookupError, RuntimeError) as error:
        fault = f"{type(error).__name__}: {error}"
    print("probe", json.dumps([name, fault[:120] if fault else None]), flush=True)


class Agent:
    """Answers, which must be possible."""

    def act(self, observation: object) -> int:
        """Any action."""
        return 0
