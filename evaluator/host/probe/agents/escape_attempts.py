"""Tries what must be refused, one thing after the other, and prints what came of it; then plays like anybody else."""

import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

PROBE_PARAMETERS = json.loads((Path(__file__).parent / "parameters.json").read_text())
TMP = Path(os.environ.get("TMPDIR", "/tmp"))
NO_NEW_PRIVILEGES = 39
MIB = 1 << 20
FAMILIES = 64  # More than any kernel has.
REFUSED = (errno.EPERM, errno.ENOSYS)
NEW_USER_NAMESPACE = 0x10000000
OPEN_FILE_LOCK = 37
FUTEX, FUTEX_WAKE = (202, 98), 1
EMPTY_PATH = 0x1000
CLONE3 = 435
MAX_FILE = 1 << 16
# Numbers of system calls on x86-64 and on 64-bit ARM.
CALLS = {
    "io_uring_setup": (425, 425), "ptrace": (101, 117), "process_vm_readv": (310, 270), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "keyctl": (250, 219), "add_key": (248, 217), "userfaultfd": (323, 282), "bpf": (321, 280),
    "perf_event_open": (298, 241), "memfd_create": (319, 279), "memfd_secret": (447, 447), "mount": (165, 40),
    "unshare": (272, 97), "setns": (308, 268), "inotify_init1": (294, 26), "shmget": (29, 194), "msgget": (68, 186),
    "mq_open": (240, 180), "vmsplice": (278, 75),
}  # fmt: skip
COLUMNS = {"x86_64": 0, "aarch64": 1}
COLUMN = COLUMNS.get(platform.machine(), 0)
SYSTEM = ctypes.CDLL(None, use_errno=True)


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
    """A program in the temporary directory: by its name, by its descriptor, and without a name."""
    program = TMP / "program"
    shutil.copy("/bin/true", program)
    program.chmod(0o755)
    try:
        subprocess.run([str(program)], check=False)
        return f"{TMP} is executable"
    except OSError:
        pass
    with program.open("rb") as file:
        if runs_by_descriptor(file.fileno()):
            return f"a descriptor of a file in {TMP} can be executed"
    with contextlib.suppress(OSError):
        nameless = os.open(TMP, os.O_TMPFILE | os.O_RDWR, 0o700)
        os.write(nameless, Path("/bin/true").read_bytes())
        if runs_by_descriptor(nameless):
            return f"a file without a name in {TMP} can be executed"
    return None


def run_from_memory() -> str | None:
    """A program in a file that exists in memory only."""
    for make in (lambda: os.memfd_create("program"), lambda: SYSTEM.syscall(CALLS["memfd_create"][COLUMN], b"program", 0)):
        with contextlib.suppress(OSError):
            file = make()
            if file >= 0:
                os.write(file, Path("/bin/true").read_bytes())
                return f"a program in memory can be {'run' if runs_by_descriptor(file) else 'made'}"
    return None


def runs_by_descriptor(file: int) -> bool:
    """Whether execveat or /proc/self/fd runs it."""
    for way in ("execveat", "/proc"):
        child = os.fork()
        if child == 0:
            with contextlib.suppress(OSError):
                if way == "/proc":
                    os.execv(f"/proc/self/fd/{file}", ["true"])
                SYSTEM.syscall((322, 281)[COLUMN], file, b"", (ctypes.c_char_p * 2)(b"true"), None, EMPTY_PATH)
            os._exit(1)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
            return True
    return False


def load_from_tmp() -> str | None:
    """Code in the temporary directory, as a library and as memory that becomes executable."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    names = sorted({line.split(None, 5)[5] for line in maps if ".so" in line})
    library = next((path for path in map(Path, names) if path.exists()), None)
    if library is None:
        return "no library was found to try it with"
    copy = TMP / "library.so"
    shutil.copy(library, copy)
    with contextlib.suppress(OSError):
        ctypes.CDLL(str(copy))
        return f"a library in {TMP} can be loaded"
    with contextlib.suppress(OSError), copy.open("rb") as file:
        mmap.mmap(file.fileno(), mmap.PAGESIZE, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
        return f"a file in {TMP} can be mapped as code"
    return None


def run_machine_code() -> str | None:
    """Memory of its own that is writable and executable."""
    with contextlib.suppress(OSError):
        mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()
        return "memory can be written and executed"
    return None


def read_the_machine() -> str | None:
    """What tells this machine from others, and counters of what else runs on it."""
    for path in PROBE_PARAMETERS["hidden"]:
        if content_of(Path(path)):
            return f"{path} can be read"
    for path in (*Path("/proc").iterdir(), *Path("/proc/sys/kernel").rglob("*")):
        text = "" if path.is_dir() else content_of(path)
        if any(words in text for words in PROBE_PARAMETERS["machine"]):
            return f"{path} describes this machine"
    if float(content_of(Path("/proc/uptime")).split()[0]) >= PROBE_PARAMETERS["uptime"]:
        return "/proc/uptime is this machine's"
    if int(content_of(Path("/proc/meminfo")).split()[1]) > PROBE_PARAMETERS["memory_mib"] * 1024:
        return "/proc/meminfo is this machine's"
    for path in ("/proc/loadavg", "/proc/stat"):
        figures = [float(word) for word in content_of(Path(path)).splitlines()[0].split() if word.replace(".", "").isdigit()]
        if any(figures):
            return f"{path} is this machine's"
    return None


def content_of(path: Path) -> str:
    """The beginning of a file, or the names in a folder; empty if there is none or it cannot be read."""
    try:
        if path.is_dir():
            return " ".join(entry.name for entry in path.iterdir())
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return os.read(file, MAX_FILE).decode("utf-8", "replace")
        finally:
            os.close(file)
    except OSError:
        return ""


def change_the_kernel() -> str | None:
    """A setting of the kernel, which all containers share."""
    for folder in ("/proc/sys", "/proc/pressure", "/sys/kernel", "/sys/module", "/sys/fs"):
        for path in sorted(Path(folder).rglob("*")):
            with contextlib.suppress(OSError):
                if path.is_file():
                    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                    return f"{path} can be written"
    return None


def read_the_mounts() -> str | None:
    """Paths of this machine in the list of mounts."""
    roots = {line.split()[3] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    strange = sorted(root for root in roots if root.startswith(("/var/lib/", PROBE_PARAMETERS["temporary"])))
    return f"the list of mounts names {strange[0]}" if strange else None


def measure_the_machine() -> str | None:
    """How busy and how large it is, by the system call sysinfo: uptime, three loads, total memory, …, processes."""
    figures = (ctypes.c_ulong * 16)()
    if SYSTEM.sysinfo(ctypes.byref(figures)) == 0:
        if any(figures[1:4]):
            return "sysinfo tells this machine's load"
        if figures[4] > PROBE_PARAMETERS["memory_mib"] * MIB:
            return "sysinfo tells this machine's memory"
    return None


def reach_network() -> str | None:
    """The evaluator's own machine, and the world."""
    for address in (("127.0.0.1", PROBE_PARAMETERS["port"]), ("1.1.1.1", 443), ("169.254.169.254", 80)):
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
    if platform.machine() not in COLUMNS:
        return f"nobody knows the system calls of {platform.machine()}"
    for name, numbers in CALLS.items():
        ctypes.set_errno(0)
        argument = NEW_USER_NAMESPACE if name == "unshare" else 0xFFFF
        if SYSTEM.syscall(numbers[COLUMN], argument, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() not in REFUSED:
            return f"{name} can be called"
    # Its flags are in memory, where no filter reads them. In the child the call returns 0.
    child = SYSTEM.syscall(CLONE3, (ctypes.c_uint64 * 8)(NEW_USER_NAMESPACE, 0, 0, 0, signal.SIGCHLD), 64)
    if child == 0:
        os._exit(0)
    if child != -1:
        return "clone3 can make a user namespace"
    with tempfile.TemporaryFile(dir=TMP) as file, contextlib.suppress(OSError):
        fcntl.fcntl(file, OPEN_FILE_LOCK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 1, 1, 0))
        return "a lock can be had that every container is shown"
    with select.epoll() as events, contextlib.suppress(OSError):
        fcntl.flock(events, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return "a file can be locked that the kernel shares among all containers"
    # Without the bit by which a futex belongs to one process.
    if (
        PROBE_PARAMETERS["shares_kernel"]
        and SYSTEM.syscall(FUTEX[COLUMN], ctypes.byref(ctypes.c_int()), FUTEX_WAKE, 1) != -1
    ):
        return "a futex can be woken in memory that containers share"
    return None


def have_a_user() -> str | None:
    """The user that containers usually are: what the kernel counts for a user would be shared with them."""
    return f"it is user {os.getuid()}, as others are" if os.getuid() in (0, 1000, 65534) else None


def read_host_file() -> str | None:
    """A file that the evaluator has just written for everybody to read."""
    try:
        return f"{Path(PROBE_PARAMETERS['canary']).read_text().strip()} can be read"
    except OSError:
        return None


def read_environment() -> str | None:
    """Any variable that the sandbox did not give."""
    strange = sorted(set(os.environ) - set(PROBE_PARAMETERS["environment"]))
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
    status = Path("/proc/self/status").read_text().splitlines()
    capabilities = next((line.split()[1] for line in status if line.startswith("CapEff")), "0")
    if os.getuid() == 0 or SYSTEM.setuid(0) == 0:
        return "it is root"
    if int(capabilities, 16):
        return f"it has the capabilities {capabilities}"
    if SYSTEM.prctl(NO_NEW_PRIVILEGES, 0, 0, 0, 0) != 1:
        return "a set-user-id program would give it privileges"
    return None


def fill_tmp() -> str | None:
    """More bytes than the temporary directory may hold."""
    hoard = TMP / "hoard"
    try:
        with hoard.open("wb", buffering=0) as file:
            for _ in range(PROBE_PARAMETERS["tmpfs_mib"] + 8):
                file.write(bytes(MIB))
    except OSError as error:
        return None if error.errno in (errno.ENOSPC, errno.EFBIG) else str(error)
    finally:
        hoard.unlink(missing_ok=True)
    return f"more than {PROBE_PARAMETERS['tmpfs_mib']} MiB were written"


def write_one_mebibyte() -> str | None:
    """What is allowed must go."""
    place = TMP / "allowed"
    place.write_bytes(bytes(MIB))
    right = place.read_bytes() == bytes(MIB)
    place.unlink()
    return None if right else "the bytes came back changed"


for name in PROBE_PARAMETERS["attempts"]:
    try:
        fault = globals()[name]()
    except (OSError, ValueError, LookupError, RuntimeError) as error:
        fault = f"{type(error).__name__}: {error}"
    print("probe", json.dumps([name, fault[:160] if fault else None]), flush=True)


class Agent:
    """Answers, which must be possible."""

    def act(self, observation: object) -> int:
        """Any action."""
        return 0
