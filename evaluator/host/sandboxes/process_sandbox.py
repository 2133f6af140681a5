"""The process sandbox, for your own code on your own machine. It is NO security boundary."""

import contextlib
import math
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from evaluator import signals
from evaluator.host.digests.image_files import sandbox_sources
from evaluator.host.errors import AgentFault, MachineFault
from evaluator.host.process_owner import abandoned_names, remove_folder, scratch_prefix
from evaluator.host.sandboxes.agent_log import AgentLog
from evaluator.host.sandboxes.channel import ByteStream, SocketStream, accept, listen
from evaluator.host.sandboxes.resource_watchdog import ResourceWatchdog
from evaluator.host.sandboxes.sandbox import SandboxSpec, exit_fault
from evaluator.host.usage import CONTROL_GROUPS, CONTROLLERS, MIB, Usage, group_usage, read_fields
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission import EXTRA_MODULES
from evaluator.model.records.stored_record import SandboxKind
from evaluator.model.records.verdict import Verdict

_CGROUP_PERIOD_MICROSECONDS = 100_000
# What the kernel adds to the path of a process whose folder is gone.
_REMOVED = " (deleted)"


@dataclass(frozen=True, kw_only=True)
class ControlGroup:
    """Directories (one per controller under v1, one in all under v2) that hold the sandbox's processes."""

    folders: dict[str, Path]
    """Controller to directory."""
    unified: bool
    """cgroup v2."""

    @classmethod
    def create(cls, limits: Limits, root: Path, name: str) -> Self | None:
        """A new group with these limits, or None where the system does not allow it."""
        unified = (root / "cgroup.controllers").exists()
        folders = {c: (root / name if unified else root / c / name) for c in CONTROLLERS}
        group = cls(folders=folders, unified=unified)
        try:
            for folder in dict.fromkeys(folders.values()):
                folder.mkdir()
            group._limit(limits)
        except OSError:
            group.remove()
            return None
        return group

    def _limit(self, limits: Limits) -> None:
        memory, quota = str(limits.memory_mib * MIB), int(limits.cpus * _CGROUP_PERIOD_MICROSECONDS)
        if self.unified:
            self._write("memory", "memory.max", memory)
            self._write("cpu", "cpu.max", f"{quota} {_CGROUP_PERIOD_MICROSECONDS}")
            with contextlib.suppress(OSError):  # a kernel without swap accounting has no such file
                self._write("memory", "memory.swap.max", "0")
        else:
            self._write("memory", "memory.limit_in_bytes", memory)
            self._write("cpu", "cpu.cfs_period_us", str(_CGROUP_PERIOD_MICROSECONDS))
            self._write("cpu", "cpu.cfs_quota_us", str(quota))
            with contextlib.suppress(OSError):
                self._write("memory", "memory.memsw.limit_in_bytes", memory)
        self._write("pids", "pids.max", str(limits.pids))

    def _write(self, controller: str, file: str, text: str) -> None:
        (self.folders[controller] / file).write_text(text)

    def join(self) -> None:
        """Move the calling process into the group; called between fork and exec."""
        for folder in dict.fromkeys(self.folders.values()):
            (folder / "cgroup.procs").write_text(str(os.getpid()))

    def usage(self) -> Usage:
        """Resources that its processes used so far."""
        return group_usage(self.folders)

    def killed_by_memory(self) -> bool:
        """Whether the memory limit killed one of its processes."""
        file = "memory.events" if self.unified else "memory.oom_control"
        return read_fields(self.folders["memory"] / file).get("oom_kill", 0) > 0

    def remove(self) -> None:
        """Kill its processes and remove it; what still ends after a second is left to the system."""
        deadline = time.monotonic() + 1
        for folder in dict.fromkeys(self.folders.values()):
            # A killed process is in its group until it has ended, and until then the group cannot be removed.
            while not _is_removed(folder) and time.monotonic() < deadline:
                time.sleep(0.005)


def _is_removed(folder: Path) -> bool:
    """Try to remove a group's directory, after killing the processes in it."""
    try:
        for pid in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        folder.rmdir()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return True


ADVICE = "start Docker, which brings them, or install them with pip"
NO_IMAGES = "the process sandbox cannot run an agent's own image; start Docker, or say --sandbox docker"
# The namespace's first process: waits for the agent and passes on its exit code, which names the signal that ended it.
_INIT_COMMAND = ("/bin/sh", "-c", '"$@"; exit $?', "sh")
_UNSHARE = ("--user", "--map-root-user", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc")


def extras_fault(extras: Sequence[str]) -> str | None:
    """Which packages of an agent's extras this machine lacks, and what to do; None if it has all."""
    missing = [module for module, extra in EXTRA_MODULES.items() if extra in extras and find_spec(module) is None]
    if not missing:
        return None
    return (
        f"{', '.join(missing)} of its extras {'is' if len(missing) == 1 else 'are'} not installed on this machine; {ADVICE}"
    )


class ProcessSandbox:
    """See `Sandbox`. Has resource limits and a clean environment; namespaces and a control group where allowed."""

    kind = SandboxKind.PROCESS
    image_digest: str | None = None

    def __init__(self, spec: SandboxSpec) -> None:
        self._limits = spec.limits
        self._log = AgentLog(spec.limits.log_kib * 1024, self._kill)
        self._watch = ResourceWatchdog(spec.limits, self._measure, self._kill, spec.wall_seconds)
        self._stream: SocketStream | None = None
        self._scratch = Path(tempfile.mkdtemp(prefix=scratch_prefix("sandbox")))
        self._group: ControlGroup | None = None
        self._listener: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._group = ControlGroup.create(spec.limits, CONTROL_GROUPS, self._scratch.name)
            self._listener = listen(self._scratch / "agent.sock")
            self._open(spec)
        except BaseException:
            self.close()
            raise

    def _open(self, spec: SandboxSpec) -> None:
        if spec.image is not None:
            raise MachineFault(NO_IMAGES)
        if fault := extras_fault(spec.extras):
            raise MachineFault(fault)
        for path, content in sandbox_sources().items():
            target = self._scratch / "sources" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        (self._scratch / "tmp").mkdir()
        address = "../agent.sock"  # relative to its working directory: the whole path may be too long for a socket
        module = "evaluator.sandbox.main"
        arguments = [str(spec.folder), spec.entry, address, *filter(None, [spec.adapter])]
        command = [*_namespaces(), *_INIT_COMMAND, sys.executable, "-u", "-m", module, *arguments]
        with signals.signals_deferred():
            self._process = subprocess.Popen(
                command,
                cwd=self._scratch / "sources",
                env={
                    **spec.environment,
                    "PATH": os.defpath,
                    "HOME": str(self._scratch / "tmp"),
                    "TMPDIR": str(self._scratch / "tmp"),
                    "PYTHONDONTWRITEBYTECODE": "1",
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_limit_process(spec.limits, self._group),
            )
        self._drainer = threading.Thread(target=self._drain, name="log", daemon=True)
        self._drainer.start()
        self._watch.start()

    def _drain(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        while data := os.read(self._process.stdout.fileno(), 1 << 16):
            self._log.write(data)

    def stream(self) -> ByteStream:
        """See `Sandbox`."""
        process = self._process
        assert process is not None
        assert self._listener is not None
        self._stream = accept(
            self._listener, self._limits.start_seconds, lambda: process.poll() is not None, "the sandbox did not start"
        )
        return self._stream

    def _measure(self) -> Usage:
        if self._group is not None:
            return self._group.usage()
        return Usage(cpu_seconds=processor_seconds(self._process.pid)) if self._process else Usage()

    def _kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def pin(self, processor: int) -> None:
        """See `Sandbox`. Does nothing: the agent's process may be behind the namespace's first one."""

    def limit_share(self) -> None:
        """See `Sandbox`. Does nothing: an agent of one's own has its share from the start."""

    def charge(self, cpu_seconds: float, wall_seconds: float) -> None:
        """See `Sandbox`."""
        self._watch.charge(cpu_seconds, wall_seconds)

    def usage(self) -> Usage:
        """See `Sandbox`."""
        return self._measure().or_larger(self._watch.seen)

    def post_mortem(self) -> AgentFault:
        """See `Sandbox`."""
        code = self._exit_code()
        if self._log.overflown:
            return AgentFault(Verdict.OUTPUT_LIMIT, f"the agent printed more than {self._limits.log_kib} KiB")
        if self._watch.reason or code == 128 + signal.SIGXCPU:
            spent = f"the agent used more than {self._limits.cpu_seconds:g} processor seconds"
            return AgentFault(Verdict.TIMEOUT, self._watch.reason or spent)
        if self._group is not None and self._group.killed_by_memory():
            return self._watch.out_of_memory()
        return exit_fault(code)

    def _exit_code(self) -> int | None:
        assert self._process is not None
        try:
            code = self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return None
        return 128 - code if code < 0 else code

    def log_tail(self) -> str:
        """See `Sandbox`."""
        self._drainer.join(timeout=0.5)
        return self._log.tail()

    def end(self) -> None:
        """See `Sandbox`."""
        self._watch.finish()
        self._kill()

    def close(self) -> None:
        """See `Sandbox`."""
        self._watch.finish()
        self._kill()
        if self._group is not None:
            self._group.remove()
        if self._process is not None:
            self._process.wait()
        if self._group is not None:
            self._group.remove()
        for connection in (self._listener, self._stream):
            if connection is not None:
                connection.close()
        remove_folder(self._scratch)


def reap_processes() -> None:
    """End what the process sandboxes of killed evaluators left running, and remove their control groups."""
    folders = [*CONTROL_GROUPS.glob("pullrank-*"), *CONTROL_GROUPS.glob("*/pullrank-*")]
    running = dict(_sandboxed())
    for name in abandoned_names({*(path.name for path in folders), *running.values()}):
        for pid in (pid for pid, own in running.items() if own == name):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        left = {path.parent.name: path for path in folders if path.name == name}
        ControlGroup(folders=left, unified=len(left) == 1).remove()


def _sandboxed() -> Iterator[tuple[int, str]]:
    """This user's processes that work in the sources of a process sandbox, with the name of its folder."""
    for path in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            folder = path.readlink()
            if folder.name.removesuffix(_REMOVED) == "sources" and path.parent.stat().st_uid == os.geteuid():
                yield int(path.parent.name), folder.parent.name


def _namespaces() -> list[str]:
    """The command prefix for separate namespaces; empty where the kernel does not let this user have them."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return []
    granted = subprocess.run([unshare, *_UNSHARE, "true"], capture_output=True, check=False, timeout=10).returncode == 0
    return [unshare, *_UNSHARE, "--"] if granted else []


def _limit_process(limits: Limits, group: ControlGroup | None) -> Callable[[], None]:
    # The watchdog counts all processes together and normally acts first; this limit is for each process alone.
    seconds = math.ceil(limits.cpu_seconds) + 2
    bounds = {
        resource.RLIMIT_DATA: limits.memory_mib * MIB,
        resource.RLIMIT_FSIZE: limits.tmpfs_mib * MIB,
        resource.RLIMIT_NOFILE: 1024,
        resource.RLIMIT_CORE: 0,
    }

    def restrain() -> None:
        if group is not None:
            group.join()
        for name, value in bounds.items():
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(name, (value, value))
        with contextlib.suppress(OSError, ValueError):
            # With equal limits the kernel would kill it without SIGXCPU.
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))

    return restrain


def processor_seconds(session: int) -> float | None:
    """User and system time of a session's living processes; None if there are none."""
    ticks, is_alive = 0, False
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == session:
                ticks, is_alive = ticks + sum(map(int, fields[11:15])), True
    return ticks / os.sysconf("SC_CLK_TCK") if is_alive else None
