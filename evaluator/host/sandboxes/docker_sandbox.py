"""The docker and gvisor sandboxes: one locked-down container for each agent and task, and its standard streams."""

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
from evaluator.host.docker.container_options import START_CPUS, ContainerOptions
from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.docker.gvisor_runtime import GVISOR_RUNTIME
from evaluator.host.docker.hidden_files import replacement_files
from evaluator.host.docker.registry_client import is_common
from evaluator.host.errors import AgentFault, MachineFault, RegistryFault, SandboxClosed
from evaluator.host.process_owner import scratch_prefix
from evaluator.host.sandboxes.agent_log import AgentLog
from evaluator.host.sandboxes.channel import (
    TICK_SECONDS,
    ByteStream,
    SocketStream,
    accept,
    checked_deadline,
    listen,
    send_all,
)
from evaluator.host.sandboxes.resource_watchdog import MOST_SOCKETS, ResourceWatchdog
from evaluator.host.sandboxes.sandbox import (
    ExitError,
    SandboxSpec,
    exit_fault,
    handed_processors,
    wait_for_start_slot,
)
from evaluator.host.usage import MIB, Usage
from evaluator.model.records.stored_record import ASKED_AGAIN, SandboxKind
from evaluator.model.records.verdict import Verdict

STDOUT = 1
_STREAM_HEADER = struct.Struct(">BxxxI")


class Demultiplexer:
    """Splits the engine's stream of (u8 stream, 3 zero bytes, u32 big-endian length, payload) into its payloads."""

    def __init__(self) -> None:
        self._head = b""
        self._stream = 0
        self._left = 0

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Pieces of payloads, each with its stream's number."""
        while data:
            if not self._left:
                missing = _STREAM_HEADER.size - len(self._head)
                self._head, data = self._head + data[:missing], data[missing:]
                if len(self._head) < _STREAM_HEADER.size:
                    return
                self._stream, self._left = _STREAM_HEADER.unpack(self._head)
                self._head = b""
                continue
            piece, data = data[: self._left], data[self._left :]
            self._left -= len(piece)
            yield self._stream, piece


def drain_log(connection: socket.socket, log: AgentLog) -> threading.Thread:
    """Read both output streams into the log, in a thread, until the container closes them."""

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
    """The channel over standard input and output, for engines that a mounted socket does not reach."""

    def __init__(self, connection: socket.socket, log: AgentLog) -> None:
        connection.settimeout(TICK_SECONDS)
        self.spin = 0.0
        self._connection = connection
        self._log = log
        self._streams = Demultiplexer()
        self._ready = bytearray()

    def send(self, data: bytes, deadline: float) -> None:
        """See `ByteStream`."""
        send_all(self._connection, data, deadline, (OSError,))

    def fill(self, view: memoryview, minimum: int, deadline: float) -> int:
        """See `ByteStream`."""
        while len(self._ready) < minimum:
            since = time.monotonic()
            self._receive()
            if len(self._ready) < minimum:
                deadline = checked_deadline(deadline, since)
        return self._take(view)

    def fileno(self) -> int:
        """See `ByteStream`."""
        return self._connection.fileno()

    def send_nowait(self, view: memoryview) -> int:
        """See `ByteStream`."""
        if not select.select([], [self._connection], [], 0)[1]:
            return 0
        try:
            return self._connection.send(view)
        except TimeoutError:
            return 0
        except OSError as error:
            raise SandboxClosed from error

    def fill_nowait(self, view: memoryview) -> int:
        """See `ByteStream`."""
        if not self._ready and select.select([self._connection], [], [], 0)[0]:
            self._receive()
        return self._take(view)

    def _take(self, view: memoryview) -> int:
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        del self._ready[:count]
        return count

    def _receive(self) -> None:
        """Read what arrives within a tick."""
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
        """Read the rest of the log after the container's end."""
        until = time.monotonic() + seconds
        with contextlib.suppress(SandboxClosed):
            while time.monotonic() < until:
                self._receive()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


PYTHON = "/opt/venv/bin/python"
SOURCES = "/opt/pullrank"
# The variable that gives an agent's own image the address to connect to.
CHANNEL = "PULLRANK_CHANNEL"
_SANDBOX_VARIABLES = {"PYTHONDONTWRITEBYTECODE": "1"}
RUNTIMES = {SandboxKind.DOCKER: None, SandboxKind.GVISOR: GVISOR_RUNTIME}
STATE_SECONDS = 2.0
# The name of a thread that removes a container; a process ends after it.
REMOVAL = "removal"
# Docker fails to remove one whose events it still writes down, such as of hundreds of kills for memory.
REMOVALS, REMOVAL_PAUSE_SECONDS = 3, 2.0
KILL_SECONDS = 10.0
_KILLED = 128 + signal.SIGKILL
# How a container ends that its engine stops.
_STOPPED = (_KILLED, 128 + signal.SIGTERM)
_NEARLY_ALL = 0.95  # of the limit: what is reclaimed at the last moment is not in the peak
# Exit codes of the init process when the entrypoint cannot be executed, or does not exist.
_NOT_RUN = (126, 127)


@dataclass(frozen=True, kw_only=True)
class DockerConfig:
    """What containers are made from."""

    engine: Engine
    image: str
    with_extras: Callable[[tuple[str, ...]], str] | None = None
    """Builds the evaluator image with extras if needed and returns its id; None where agents have none."""
    kind: SandboxKind
    over_socket: bool
    """Whether the channel is a mounted Unix socket instead of standard input and output."""

    def image_of(self, extras: tuple[str, ...]) -> str:
        """The id of the evaluator image with these extras."""
        return self.with_extras(extras) if extras and self.with_extras else self.image


class DockerSandbox:
    """See `Sandbox`."""

    def __init__(self, config: DockerConfig, spec: SandboxSpec) -> None:
        self.kind = config.kind
        self.image_digest: str | None = config.image
        self._engine = config.engine
        self._own = spec.image
        self._limits = spec.limits
        self._over_socket = config.over_socket
        self._log = AgentLog(spec.limits.log_kib * 1024, self._kill)
        self._id: str | None = None
        self._killers: list[threading.Thread] = []
        self._listener: socket.socket | None = None
        self._attached: socket.socket | None = None
        self._drainer: threading.Thread | None = None
        self._stream: SocketStream | ContainerStream | None = None
        self._ended = self._closed = False
        self._starts_faster = config.kind is SandboxKind.DOCKER and spec.limits.cpus < START_CPUS
        sockets = MOST_SOCKETS if spec.loopback and config.kind is SandboxKind.DOCKER else None
        self._watch = ResourceWatchdog(spec.limits, self._measure, self._kill, spec.wall_seconds, sockets)
        self._scratch = Path(tempfile.mkdtemp(prefix=scratch_prefix("sandbox")))
        try:
            if config.over_socket:
                self._listener = self._listen()
            self._open(config, spec)
        except BaseException:
            self.close()
            raise

    def _listen(self) -> socket.socket:
        """A socket in its own directory; the container's unprivileged user must be able to reach it."""
        channel = self._scratch / "channel"
        channel.mkdir(mode=0o755)
        listener = listen(channel / "agent.sock")
        (channel / "agent.sock").chmod(0o666)
        return listener

    def _open(self, config: DockerConfig, spec: SandboxSpec) -> None:
        binds = {str(spec.folder): {"bind": "/submission", "mode": "ro"}}
        if self._over_socket:
            binds[str(self._scratch / "channel")] = {"bind": "/channel", "mode": "ro"}
        if config.kind is SandboxKind.DOCKER:
            binds.update(self._replacement_files(spec))
        address = "/channel/agent.sock" if self._over_socket else "-"
        variables = {CHANNEL: address} if spec.image else _SANDBOX_VARIABLES
        options = ContainerOptions(
            environment={**spec.environment, "HOME": "/tmp", **variables}, binds=binds, runtime=RUNTIMES[config.kind],
            stdin=not self._over_socket, loopback=spec.loopback, working_dir=None if spec.image else SOURCES,
            processors=handed_processors() if self._over_socket else (), gpus=spec.gpus,
        )  # fmt: skip
        if spec.image is None:
            try:
                self.image_digest = config.image_of(spec.extras)
            except EngineError as error:
                raise MachineFault(str(error)) from error
            module = [PYTHON, "-u", "-m", "evaluator.sandbox.main", "/submission"]
            self._run(self.image_digest, [*module, spec.entry, address, *filter(None, [spec.adapter])], spec, options)
            return
        reference = spec.image.reference
        # Also where it fails: what is played next would else begin in a second that the owner chose.
        wait = wait_for_start_slot if spec.waits_for_slot and not is_common(reference.host) else None
        image = agent_image.ensure_agent_image(config.engine, reference, spec.image.image_mib, wait)
        self.image_digest = f"sha256:{reference.digest}"
        try:
            self._run(image, None, spec, options)
        except EngineError as error:
            # A folder of the image in place of a file, such as /sbin/docker-init, gVisor reports like an end of its own.
            if not error.refused and config.engine.start_fault(config.image, spec.limits, options) is None:
                raise RegistryFault(f"the image cannot be started, and ours can: {error}; {ASKED_AGAIN}") from error
            raise agent_image.cannot_start(error) from error

    def _replacement_files(self, spec: SandboxSpec) -> dict[str, dict[str, str]]:
        """Our own files in place of some in /proc; see `hidden_files`."""
        folder = self._scratch / "proc"
        folder.mkdir(mode=0o755)
        binds = {}
        for path, text in replacement_files(spec.limits).items():
            file = folder / Path(path).name
            file.write_text(text)
            file.chmod(0o644)
            binds[str(file)] = {"bind": path, "mode": "ro"}
        return binds

    def _run(self, image: str, command: list[str] | None, spec: SandboxSpec, options: ContainerOptions) -> None:
        self._id = self._engine.create(image, command, spec.limits, options)
        self._attached = self._engine.attach(self._id, stdin=not self._over_socket)
        if self._over_socket:
            self._drainer = drain_log(self._attached, self._log)
        self._incarnation = self._engine.incarnation()
        self._engine.start(self._id)
        self._watch.start()

    def stream(self) -> ByteStream:
        """See `Sandbox`."""
        if self._listener is not None:
            late = f"the image's entrypoint did not connect to {CHANNEL}" if self._own else "the sandbox did not start"
            self._stream = accept(self._listener, self._limits.start_seconds, self._has_ended, late)
        else:
            assert self._attached is not None
            self._stream = ContainerStream(self._attached, self._log)
        return self._stream

    def _has_ended(self) -> bool:
        return bool(self._id) and not self._engine.state(str(self._id))["Running"]

    def _measure(self) -> Usage:
        return self._engine.usage(self._id) if self._id else Usage()

    def _kill(self) -> None:
        """Kill it in a thread: the engine ends a container only when its last output is read, maybe by this thread."""
        if self._id:
            killer = threading.Thread(target=self._engine.kill, args=(self._id,), name="kill", daemon=True)
            self._killers.append(killer)
            killer.start()

    def pin(self, processor: int) -> None:
        """See `Sandbox`."""
        if self._id:
            self._engine.pin(self._id, processor)

    def limit_share(self) -> None:
        """See `Sandbox`. gVisor's runtime cannot change limits, so its containers have their share from the start."""
        if self._starts_faster and self._id:
            self._starts_faster = False
            try:
                self._engine.limit_share(self._id, self._limits.cpus)
            except EngineError:
                # An agent that ends at this moment must not make its end our failure; the referee sees that it is gone.
                # The engine learns of it late after hundreds of kills for memory, and each is an event.
                if self._last_state().get("Running"):
                    if not self._engine.ran_out_of_memory(self._id):
                        raise
                    self._kill()

    def charge(self, cpu_seconds: float, wall_seconds: float) -> None:
        """See `Sandbox`."""
        self._watch.charge(cpu_seconds, wall_seconds)

    def usage(self) -> Usage:
        """See `Sandbox`. For a dead container, or an engine that does not answer, the watchdog's measurement counts."""
        now = Usage()
        with contextlib.suppress(EngineError):
            now = self._measure()
        return now.or_larger(self._watch.seen)

    def post_mortem(self) -> AgentFault:
        """See `Sandbox`."""
        state = self._last_state()
        if self._log.overflown:
            message = f"the agent printed more than {self._limits.log_kib} KiB"
            return AgentFault(Verdict.OUTPUT_LIMIT, message)
        if self._watch.reason:
            return AgentFault(self._watch.verdict, self._watch.reason)
        self._refuse_foreign_stop(state)
        code = None if state.get("Running") else state.get("ExitCode")
        if state.get("OOMKilled") or (code == _KILLED and self._ran_out_of_memory()):
            return self._watch.out_of_memory()
        # gVisor may take longer to end than we wait, after the kernel has killed what it runs.
        if code is None and self._id and self._engine.ran_out_of_memory(self._id):
            return self._watch.out_of_memory()
        if self._own and code in _NOT_RUN and self._stream is None:
            return ExitError(f"the image's entrypoint cannot be run (exit code {code}); see the end of the log", code)
        return exit_fault(code)

    def _refuse_foreign_stop(self, state: dict[str, Any]) -> None:
        """Make sure that an end by a signal is the agent's: an engine that is restarted stops its containers, too.

        Raises:
            EngineError: the engine was restarted, or somebody stopped the container.
        """
        if state.get("ExitCode") not in _STOPPED or state.get("OOMKilled") or self._killers or self._id is None:
            return
        if self._engine.incarnation() != self._incarnation:
            raise EngineError("the container engine was restarted during the evaluation; run it again")
        if self._engine.was_stopped(self._id):
            raise EngineError("somebody stopped the sandbox's container during the evaluation; run it again")

    def _ran_out_of_memory(self) -> bool:
        """Whether the kernel killed it for lack of memory.

        Under cgroup v2 the engine's event may never come (containerd #12380). Then a kill that was not ours counts as one
        for memory if the sandbox was last measured near its limit.
        """
        if self._id and self._engine.ran_out_of_memory(self._id):
            return True
        peak = self._watch.seen.peak_memory_bytes
        return not self._killers and peak is not None and peak >= _NEARLY_ALL * self._limits.memory_mib * MIB

    def _last_state(self) -> dict[str, Any]:
        """The container's state once it has ended, at the latest after `STATE_SECONDS`."""
        until = time.monotonic() + STATE_SECONDS
        while self._id:
            state = self._engine.state(self._id)
            if not state.get("Running") or time.monotonic() > until:
                break
            time.sleep(0.02)
        return state if self._id else {}

    def log_tail(self) -> str:
        """See `Sandbox`."""
        if isinstance(self._stream, ContainerStream):
            self._stream.drain(0.5)
        elif self._drainer is not None:
            self._drainer.join(timeout=0.5)
        return self._log.tail()

    def end(self) -> None:
        """See `Sandbox`."""
        self._watch.finish()
        self._kill()
        self._ended = True

    def close(self) -> None:
        """See `Sandbox`. A container that was killed is removed by a thread, for which the process waits before it ends."""
        if self._closed:
            return
        self._closed = True
        self._watch.finish()
        self._hang_up()
        if self._ended:
            threading.Thread(target=self._remove, name=REMOVAL).start()
        else:
            self._remove()

    def _remove(self) -> None:
        if self._id:
            # A container that cannot be removed must not void its result; the next evaluator removes it.
            for _ in range(REMOVALS):
                with contextlib.suppress(EngineError):
                    self._engine.remove(self._id)
                    break
                time.sleep(REMOVAL_PAUSE_SECONDS)
        if self._own:
            with contextlib.suppress(EngineError):
                agent_image.trim_images(self._engine)
        connections: list[SocketStream | ContainerStream | socket.socket | None]
        connections = [self._stream, self._listener, self._attached]
        for connection in connections:
            if connection is not None:
                with contextlib.suppress(OSError):
                    connection.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _hang_up(self) -> None:
        """Stop reading output: the engine waits for it before it ends the container."""
        if self._attached is not None:
            with contextlib.suppress(OSError):
                self._attached.shutdown(socket.SHUT_RDWR)
        for killer in self._killers:
            killer.join(KILL_SECONDS)
