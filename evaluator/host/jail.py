"""The docker and gvisor sandboxes: one locked-down container for one agent on one task."""

import contextlib
import shutil
import signal
import socket
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.host.attached import StandardStream, drain
from evaluator.host.channel import SocketStream, Stream, listen
from evaluator.host.container import Engine
from evaluator.host.faults import FaultError, HangupError
from evaluator.host.log import BoundedLog
from evaluator.host.sandbox import Cell, Usage, exit_fault
from evaluator.host.watch import Watchdog
from evaluator.model.result import SandboxKind
from evaluator.model.verdict import Verdict

PYTHON = "/opt/venv/bin/python"
RUNTIMES = {SandboxKind.DOCKER: None, SandboxKind.GVISOR: "runsc"}
LAST_WORDS_SECONDS = 2.0
KILL_SECONDS = 10.0
_KILLED = 128 + signal.SIGKILL


@dataclass(frozen=True, kw_only=True)
class Walls:
    """What a jail is built from."""

    engine: Engine
    """The container engine."""
    image: str
    """The evaluator image's id."""
    kind: SandboxKind
    """docker or gvisor."""
    over_socket: bool
    """Whether the channel is a mounted Unix socket; else standard input and output."""


class Jail:
    """See Sandbox."""

    def __init__(self, walls: Walls, cell: Cell) -> None:
        self.kind = walls.kind
        self.image_digest: str | None = walls.image
        self._engine = walls.engine
        self._limits = cell.limits
        self._over_socket = walls.over_socket
        self._log = BoundedLog(cell.limits.log_kib * 1024, self._kill)
        self._id: str | None = None
        self._killers: list[threading.Thread] = []
        self._stream: Stream | None = None
        self._closed = False
        self._watch = Watchdog(cell.limits, self._measure, self._kill)
        self._room = Path(tempfile.mkdtemp(prefix="pullrank-"))
        try:
            self._listener = self._listen() if walls.over_socket else None
            self._open(walls, cell)
        except BaseException:
            self.close()
            raise

    def _listen(self) -> socket.socket:
        """A socket in a directory of its own; the container's unprivileged user must be able to reach it."""
        door = self._room / "channel"
        door.mkdir(mode=0o755)
        listener = listen(door / "agent.sock")
        (door / "agent.sock").chmod(0o666)
        return listener

    def _open(self, walls: Walls, cell: Cell) -> None:
        binds = {str(cell.folder): {"bind": "/submission", "mode": "ro"}}
        if self._over_socket:
            binds[str(self._room / "channel")] = {"bind": "/channel", "mode": "ro"}
        address = "/channel/agent.sock" if self._over_socket else "-"
        command = [PYTHON, "-u", "-m", "evaluator.sandbox.main", "/submission", cell.entry, address]
        options: dict[str, Any] = {
            "environment": {**cell.environment, "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"},
            "binds": binds,
            "runtime": RUNTIMES[walls.kind],
            "stdin": not self._over_socket,
        }
        self._id = self._engine.create(walls.image, command, cell.limits, options)
        self._attached = self._engine.attach(self._id, stdin=not self._over_socket)
        self._drainer = drain(self._attached, self._log) if self._over_socket else None
        self._engine.start(self._id)
        self._watch.start()

    def stream(self) -> Stream:
        """See Sandbox."""
        if self._listener is None:
            self._stream = StandardStream(self._attached, self._log)
        else:
            self._stream = SocketStream(self._accept(self._listener))
        return self._stream

    def _accept(self, listener: socket.socket) -> socket.socket:
        listener.settimeout(0.5)
        deadline = time.monotonic() + self._limits.start_seconds
        while time.monotonic() < deadline:
            try:
                return listener.accept()[0]
            except TimeoutError:
                if self._id and not self._engine.state(self._id)["Running"]:
                    raise HangupError from None
        raise FaultError(Verdict.TIMEOUT, f"the sandbox did not start within {self._limits.start_seconds:g} s")

    def _measure(self) -> Usage:
        return self._engine.usage(self._id) if self._id else Usage()

    def _kill(self) -> None:
        """Have it killed without waiting: the engine ends a container only when its last output is read, maybe by us."""
        if self._id:
            killer = threading.Thread(target=self._engine.kill, args=(self._id,), name="kill", daemon=True)
            self._killers.append(killer)
            killer.start()

    def pin(self, processor: int) -> None:
        """See Sandbox."""
        if self._id:
            self._engine.pin(self._id, processor)

    def usage(self) -> Usage:
        """See Sandbox. A dead container has no cgroup any more: then the watchdog's last reading stands."""
        now = self._measure()
        seen = self._watch.seen
        return Usage(
            cpu_seconds=now.cpu_seconds or seen.cpu_seconds,
            peak_memory_bytes=now.peak_memory_bytes or seen.peak_memory_bytes,
        )

    def post_mortem(self) -> FaultError:
        """See Sandbox."""
        state = self._last_state()
        if self._log.overflown:
            message = f"the agent printed more than {self._limits.log_kib} KiB"
            return FaultError(Verdict.OUTPUT_LIMIT, message)
        if self._watch.reason:
            return FaultError(Verdict.TIMEOUT, self._watch.reason)
        if state.get("OOMKilled") or (
            state.get("ExitCode") == _KILLED and self._id and self._engine.ran_out_of_memory(self._id)
        ):
            message = f"the agent used more than {self._limits.memory_mib} MiB of memory"
            return FaultError(Verdict.OUT_OF_MEMORY, message)
        return exit_fault(None if state.get("Running") else state.get("ExitCode"))

    def _last_state(self) -> dict[str, Any]:
        """The container's state once it has ended, or after a while."""
        until = time.monotonic() + LAST_WORDS_SECONDS
        while self._id:
            state = self._engine.state(self._id)
            if not state.get("Running") or time.monotonic() > until:
                break
            time.sleep(0.02)
        return state if self._id else {}

    def log_tail(self) -> str:
        """See Sandbox."""
        if isinstance(self._stream, StandardStream):
            self._stream.drain(0.5)
        elif self._drainer is not None:
            self._drainer.join(timeout=0.5)
        return self._log.tail()

    def end(self) -> None:
        """Kill the container but keep it, so that its log can be read to the end."""
        self._watch.finish()
        self._kill()

    def close(self) -> None:
        """See Sandbox."""
        if self._closed:
            return
        self._closed = True
        self._watch.finish()
        self._hang_up()
        if self._id:
            self._engine.remove(self._id)
        for thing in (self._stream, getattr(self, "_listener", None), getattr(self, "_attached", None)):
            with contextlib.suppress(OSError, AttributeError):
                thing.close()  # type: ignore[union-attr]
        shutil.rmtree(self._room, ignore_errors=True)

    def _hang_up(self) -> None:
        """Take no more output: the engine would wait for us before it lets the container go."""
        with contextlib.suppress(OSError, AttributeError):
            self._attached.shutdown(socket.SHUT_RDWR)
        for killer in self._killers:
            killer.join(KILL_SECONDS)
