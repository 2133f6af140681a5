"""The docker and gvisor sandboxes: one locked-down container for one agent on one task."""

import contextlib
import select
import shutil
import signal
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.host.docker import agent_image
from evaluator.host.docker.engine import Engine, EngineError
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.sandboxes.bounded_log import BoundedLog
from evaluator.host.sandboxes.channel import TICK, ByteStream, SocketStream, listen, with_progress
from evaluator.host.sandboxes.sandbox import ExitError, OwnImage, SandboxSpec, exit_fault
from evaluator.host.sandboxes.watchdog import Watchdog
from evaluator.host.usage import Usage
from evaluator.model.records.result import SandboxKind
from evaluator.model.records.verdict import Verdict

STDOUT = 1
_HEADER = struct.Struct(">BxxxI")


class Demultiplexer:
    """Cuts the engine's stream of (u8 stream, 3 zero bytes, u32 big-endian length, payload) into its payloads."""

    def __init__(self) -> None:
        self._head = b""
        self._stream = 0
        self._left = 0

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Payload pieces, each with its stream's number."""
        while data:
            if not self._left:
                missing = _HEADER.size - len(self._head)
                self._head, data = self._head + data[:missing], data[missing:]
                if len(self._head) < _HEADER.size:
                    return
                self._stream, self._left = _HEADER.unpack(self._head)
                self._head = b""
                continue
            piece, data = data[: self._left], data[self._left :]
            self._left -= len(piece)
            yield self._stream, piece


def drain_log(connection: socket.socket, log: BoundedLog) -> threading.Thread:
    """Read both streams into the log, in a thread, until the container closes them."""

    def run() -> None:
        streams = Demultiplexer()
        with contextlib.suppress(OSError):
            connection.settimeout(None)
            while data := connection.recv(1 << 16):
                for _, piece in streams.feed(data):
                    log.write(piece)

    thread = threading.Thread(target=run, name="log", daemon=True)
    thread.start()
    return thread


class ContainerStream:
    """The channel over standard input and output, for engines to which a mounted socket does not reach."""

    def __init__(self, connection: socket.socket, log: BoundedLog) -> None:
        connection.settimeout(TICK)
        self.spin = 0.0
        self._connection = connection
        self._log = log
        self._streams = Demultiplexer()
        self._ready = bytearray()

    def send(self, data: bytes, deadline: float) -> None:
        """See Stream."""
        view = memoryview(data)
        while view:
            since = time.monotonic()
            try:
                view = view[self._connection.send(view) :]
            except TimeoutError:
                deadline = with_progress(deadline, since)
            except OSError as error:
                raise SandboxClosed from error

    def fill(self, view: memoryview, minimum: int, deadline: float) -> int:
        """See Stream."""
        while len(self._ready) < minimum:
            since = time.monotonic()
            self._receive()
            if len(self._ready) < minimum:
                deadline = with_progress(deadline, since)
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        del self._ready[:count]
        return count

    def fileno(self) -> int:
        """See Stream."""
        return self._connection.fileno()

    def push(self, view: memoryview) -> int:
        """See Stream."""
        if not select.select([], [self._connection], [], 0)[1]:
            return 0
        try:
            return self._connection.send(view)
        except TimeoutError:
            return 0
        except OSError as error:
            raise SandboxClosed from error

    def pump(self, view: memoryview) -> int:
        """See Stream."""
        if not self._ready and select.select([self._connection], [], [], 0)[0]:
            self._receive()
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        del self._ready[:count]
        return count

    def _receive(self) -> None:
        """What is there, or comes within a tick."""
        try:
            data = self._connection.recv(1 << 18)
        except TimeoutError:
            return
        except OSError as error:
            raise SandboxClosed from error
        if not data:
            raise SandboxClosed
        for stream, piece in self._streams.feed(data):
            if stream == STDOUT:
                self._ready += piece
            else:
                self._log.write(piece)

    def drain(self, seconds: float) -> None:
        """After the end: read what is left for the log."""
        until = time.monotonic() + seconds
        with contextlib.suppress(SandboxClosed):
            while time.monotonic() < until:
                self._receive()


PYTHON = "/opt/venv/bin/python"
SOURCES = "/opt/pullrank"
# Where an agent's own image reads what it is to connect to.
CHANNEL = "PULLRANK_CHANNEL"
_OURS = {"PYTHONDONTWRITEBYTECODE": "1"}
RUNTIMES = {SandboxKind.DOCKER: None, SandboxKind.GVISOR: "runsc"}
LAST_WORDS_SECONDS = 2.0
KILL_SECONDS = 10.0
_KILLED = 128 + signal.SIGKILL
_MIB = 1 << 20
_NEARLY_ALL = 0.95  # Of the limit: what is reclaimed at the last moment is not in the peak.
# How the init process ends when what it is to start cannot be executed, or is not there.
_NOT_RUN = (126, 127)


@dataclass(frozen=True, kw_only=True)
class DockerConfig:
    """What a jail is built from."""

    engine: Engine
    """The container engine."""
    image: str
    """The evaluator image's id."""
    with_extras: Callable[[tuple[str, ...]], str] | None = None
    """The id of the evaluator image with extras, built if need be; None where agents have none."""
    kind: SandboxKind
    """docker or gvisor."""
    over_socket: bool
    """Whether the channel is a mounted Unix socket; else standard input and output."""


class DockerSandbox:
    """See Sandbox."""

    def __init__(self, walls: DockerConfig, cell: SandboxSpec) -> None:
        self.kind = walls.kind
        self.image_digest: str | None = walls.image
        self._engine = walls.engine
        self._own: OwnImage | None = cell.image
        self._limits = cell.limits
        self._over_socket = walls.over_socket
        self._log = BoundedLog(cell.limits.log_kib * 1024, self._kill)
        self._id: str | None = None
        self._killers: list[threading.Thread] = []
        self._stream: ByteStream | None = None
        self._closed = False
        self._watch = Watchdog(cell.limits, self._measure, self._kill, cell.wall_seconds)
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

    def _open(self, walls: DockerConfig, cell: SandboxSpec) -> None:
        binds = {str(cell.folder): {"bind": "/submission", "mode": "ro"}}
        if self._over_socket:
            binds[str(self._room / "channel")] = {"bind": "/channel", "mode": "ro"}
        address = "/channel/agent.sock" if self._over_socket else "-"
        options: dict[str, Any] = {
            "binds": binds, "runtime": RUNTIMES[walls.kind], "stdin": not self._over_socket, "loopback": cell.loopback,
        }  # fmt: skip
        if cell.image is None:
            self.image_digest = _image(walls, cell)
            self._run(
                self.image_digest, _ours(cell, address), cell, {**options, "working_dir": SOURCES, "environment": _OURS}
            )
            return
        image = agent_image.ensure_agent_image(walls.engine, cell.image.reference, cell.image.image_mib)
        self.image_digest = f"sha256:{cell.image.reference.digest}"
        try:
            self._run(image, None, cell, {**options, "environment": {CHANNEL: address}})
        except EngineError as error:
            raise agent_image.cannot_start(error) from error

    def _run(self, image: str, command: list[str] | None, cell: SandboxSpec, options: dict[str, Any]) -> None:
        environment = {**cell.environment, "HOME": "/tmp", **options["environment"]}
        self._id = self._engine.create(image, command, cell.limits, {**options, "environment": environment})
        self._attached = self._engine.attach(self._id, stdin=not self._over_socket)
        self._drainer = drain_log(self._attached, self._log) if self._over_socket else None
        self._engine.start(self._id)
        self._watch.start()

    def stream(self) -> ByteStream:
        """See Sandbox."""
        if self._listener is None:
            self._stream = ContainerStream(self._attached, self._log)
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
                    raise SandboxClosed from None
        late = f"the image's entrypoint did not connect to {CHANNEL}" if self._own else "the sandbox did not start"
        raise AgentFault(Verdict.TIMEOUT, f"{late} within {self._limits.start_seconds:g} s")

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
        """See Sandbox. A dead container has no cgroup any more: then the watchdog's last reading stands.

        So it does where the engine does not answer: what was played is not void for it.
        """
        now = Usage()
        with contextlib.suppress(EngineError):
            now = self._measure()
        seen = self._watch.seen
        return Usage(
            cpu_seconds=now.cpu_seconds or seen.cpu_seconds,
            peak_memory_bytes=now.peak_memory_bytes or seen.peak_memory_bytes,
        )

    def post_mortem(self) -> AgentFault:
        """See Sandbox."""
        state = self._last_state()
        if self._log.overflown:
            message = f"the agent printed more than {self._limits.log_kib} KiB"
            return AgentFault(Verdict.OUTPUT_LIMIT, message)
        if self._watch.reason:
            return AgentFault(Verdict.TIMEOUT, self._watch.reason)
        if state.get("OOMKilled") or (state.get("ExitCode") == _KILLED and self._ran_out_of_memory()):
            message = f"the agent used more than {self._limits.memory_mib} MiB of memory"
            return AgentFault(Verdict.OUT_OF_MEMORY, message)
        code = None if state.get("Running") else state.get("ExitCode")
        if self._own and code in _NOT_RUN and self._stream is None:
            return ExitError(f"the image's entrypoint cannot be run (exit code {code}); see the end of the log", code)
        return exit_fault(code)

    def _ran_out_of_memory(self) -> bool:
        """Whether a kill was the kernel's for lack of memory.

        Under cgroup v2 the engine's event may never come (containerd #12380). Then a kill that was not ours, by a sandbox
        that was last seen at its limit, is taken for it.
        """
        if self._id and self._engine.ran_out_of_memory(self._id):
            return True
        peak = self._watch.seen.peak_memory_bytes
        return not self._killers and peak is not None and peak >= _NEARLY_ALL * self._limits.memory_mib * _MIB

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
        if isinstance(self._stream, ContainerStream):
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
            # One that will not go must not void what it did: whoever evaluates after this process removes it.
            with contextlib.suppress(EngineError):
                self._engine.remove(self._id)
        if self._own:
            with contextlib.suppress(EngineError):
                agent_image.trim_images(self._engine)
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


def _image(walls: DockerConfig, cell: SandboxSpec) -> str:
    """The evaluator image with what the agent needs in it."""
    return walls.with_extras(cell.extras) if cell.extras and walls.with_extras else walls.image


def _ours(cell: SandboxSpec, address: str) -> list[str]:
    """The command that loads an agent's source in the evaluator image."""
    module = [PYTHON, "-u", "-m", "evaluator.sandbox.main", "/submission"]
    return [*module, cell.entry, address, *filter(None, [cell.adapter])]
