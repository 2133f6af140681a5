"""The process that a container, a folder or a control group belongs to; the next run removes what a killed one left."""

import functools
import hashlib
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class ProcessOwner:
    """A process; process ids alone are reused."""

    pid: int
    start: str
    boot: str
    namespace: str

    @property
    def has_ended(self) -> bool:
        """Whether it is seen to have ended: never for another boot or another namespace of processes."""
        here = this_process()
        return (self.boot, self.namespace) == (here.boot, here.namespace) and start_time(self.pid) != self.start


def this_process() -> ProcessOwner:
    """This process as an owner."""
    return ProcessOwner(pid=os.getpid(), start=start_time(os.getpid()), boot=current_boot(), namespace=_namespace())


def current_boot() -> str:
    """The kernel's name for the time since it was started."""
    return read_or_empty("/proc/sys/kernel/random/boot_id")


def read_or_empty(path: str) -> str:
    """The text of a system file, without blanks around it; empty where it cannot be read."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def start_time(pid: int) -> str:
    """Field 22 of /proc/PID/stat; empty if the process does not exist or is a zombie."""
    fields = read_or_empty(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


_SCRATCH_NAME = re.compile(r"pullrank-[a-z]+-(?P<where>[0-9a-f]{8})-(?P<owner>[0-9a-f]{16})-[a-z0-9_]{8}")


def scratch_prefix(purpose: str) -> str:
    """The beginning of a scratch folder's name, which says whose it is from the moment that it exists.

    Hashes, since an agent sees in its mounts what folders here are called.
    """
    owner = this_process()
    return f"pullrank-{purpose}-{_where(owner)}-{_tag(owner)}-"


def _where(owner: ProcessOwner) -> str:
    return hashlib.sha256(f"{owner.boot} {owner.namespace}".encode()).hexdigest()[:8]


def _tag(owner: ProcessOwner) -> str:
    return hashlib.sha256(f"{owner.boot} {owner.namespace} {owner.pid} {owner.start}".encode()).hexdigest()[:16]


def abandoned_names(names: Iterable[str]) -> frozenset[str]:
    """Those that are names of scratch folders whose process has ended: of this boot and this namespace of processes.

    The names were listed before this looks for living processes, so no new process can be missed.
    """
    here = this_process()
    matches = [match for match in map(_SCRATCH_NAME.fullmatch, names) if match and match["where"] == _where(here)]
    if not matches or not here.start or not here.namespace:
        return frozenset()
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    living = {_tag(replace(here, pid=pid, start=start)) for pid in pids if (start := start_time(pid))}
    return frozenset(match[0] for match in matches if match["owner"] not in living)


def cache_folder(name: str) -> Path:
    """This user's folder for what later processes may need again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pullrank" / name


def scratch_folder(purpose: str) -> "tempfile.TemporaryDirectory[str]":
    """A temporary folder for a `with` block; should this process be killed, the next one that makes a folder removes it."""
    remove_abandoned_once()
    return tempfile.TemporaryDirectory(prefix=scratch_prefix(purpose))


@functools.cache
def remove_abandoned_once() -> None:
    """Remove abandoned folders, the first time that this process calls it."""
    remove_abandoned(Path(tempfile.gettempdir()))


def remove_abandoned(place: Path) -> None:
    """Remove abandoned scratch folders of this user; a link with such a name is not followed."""
    mine = {path.name: path for path in place.glob("pullrank-*") if _is_own_folder(path)}
    for name in abandoned_names(mine):
        remove_folder(mine[name])


def remove_folder(folder: Path) -> None:
    """Remove what an agent may have written, as far as it can be removed: `shutil.rmtree` fails on thousands of levels."""
    subprocess.run(["rm", "-rf", "--", folder], stderr=subprocess.DEVNULL, check=False)


def _is_own_folder(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
