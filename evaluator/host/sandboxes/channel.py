"""The host's end of the connection to a sandbox: every wait has a deadline, every length is checked before reading."""

import array
import json
import os
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from evaluator import wire
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.model.config.submission import EXTRA_MODULES
from evaluator.model.records.verdict import Verdict
from evaluator.model.visible_text import visible

TICK_SECONDS = 0.25
# Bytes of one send: the kernel begins a new tick for every 32 KiB or so, so an agent could make a long one last as it likes.
PIECE_BYTES = 1 << 16
# A tick that takes this many seconds longer was the machine's fault: no agent can keep the referee from waking up.
STANDSTILL_SECONDS = 1.0
# Seconds of polling before sleeping. Only the host polls: an agent's processor time is limited.
SPIN_SECONDS = 0.0001
# The kernel's option that lets a socket receive descriptors, which Python does not name. Those that nobody asked for are
# closed by the thread that reads, and closing one may last for seconds, such as an epoll of a million watched files.
_SO_PASSRIGHTS = 83
# Room for all descriptors that come at once; no kernel passes more than 253.
_PASSED_BYTES = socket.CMSG_SPACE(253 * array.array("i").itemsize)
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
_NO_REASON = "the agent's side reported a fault without a reason; see the end of its log"
_MISSING_MODULE = re.compile(r"No module named '([A-Za-z0-9_]+)([.A-Za-z0-9_]*)'")
_VERDICTS = {
    wire.ErrorReason.INVALID: Verdict.INVALID,
    wire.ErrorReason.CRASHED: Verdict.CRASHED,
    wire.ErrorReason.MEMORY: Verdict.OUT_OF_MEMORY,
    wire.ErrorReason.PROTOCOL: Verdict.PROTOCOL_ERROR,
}


class ByteStream(Protocol):
    """Bytes to and from a sandbox."""

    spin: float
    """Seconds to poll for an answer before sleeping."""

    def send(self, data: bytes, deadline: float) -> None:
        """Write all of it; raises AgentFault (timeout) or SandboxClosed."""

    def fill(self, view: memoryview, minimum: int, deadline: float) -> int:
        """Read at least `minimum` bytes and at most the view's size; returns how many. Raises as `send` does."""

    def fileno(self) -> int:
        """The descriptor for `poll`, to wait for several streams."""

    def send_nowait(self, view: memoryview) -> int:
        """Write as much as possible without waiting; returns how many bytes. Raises SandboxClosed."""

    def fill_nowait(self, view: memoryview) -> int:
        """Read as much as possible without waiting; returns how many bytes. Raises SandboxClosed."""


def send_all(connection: socket.socket, data: bytes, deadline: float, closed: tuple[type[OSError], ...]) -> None:
    """Write all of it to a socket whose timeout is the tick, checking the deadline after every piece but the last.

    The errors `closed` mean that the other side is gone.

    Raises:
        AgentFault: the deadline passed.
        SandboxClosed: the other side is gone.
    """
    view = memoryview(data)
    while view:
        since = time.monotonic()
        try:
            view = view[connection.send(view[:PIECE_BYTES]) :]
        except (BlockingIOError, TimeoutError):
            pass
        except closed as error:
            raise SandboxClosed from error
        if view:
            deadline = checked_deadline(deadline, since)


def _refuse_descriptors(sock: socket.socket) -> bool:
    """Have the kernel refuse descriptors that are passed to a socket; False where it cannot, before Linux 6.16."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_PASSRIGHTS, 0)
    except OSError:
        return False
    return True


def _close_all(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


class SocketStream:
    """A Unix socket. Its kernel timeout is the tick at which a wait checks its deadline."""

    def __init__(self, connection: socket.socket) -> None:
        tick = struct.pack("ll", 0, int(TICK_SECONDS * 1e6))
        connection.setblocking(True)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, tick)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, tick)
        self._is_guarded = _refuse_descriptors(connection)
        self._connection = connection
        self.spin = SPIN_SECONDS

    def send(self, data: bytes, deadline: float) -> None:
        """See `ByteStream`."""
        send_all(self._connection, data, deadline, (BrokenPipeError, ConnectionResetError))

    def fill(self, view: memoryview, minimum: int, deadline: float) -> int:
        """See `ByteStream`."""
        have = self._spin(view) if self.spin else 0
        while have < minimum:
            since = time.monotonic()
            count = self._receive(view[have:], 0)
            if not count or have:
                deadline = checked_deadline(deadline, since)
            have += count
        return have

    def _spin(self, view: memoryview) -> int:
        """Poll for an answer for a moment, since waking up takes longer than most answers."""
        until = time.perf_counter() + self.spin
        while time.perf_counter() < until:
            if count := self._receive(view, socket.MSG_DONTWAIT):
                return count
            os.sched_yield()
        return 0

    def _receive(self, view: memoryview, flags: int) -> int:
        """Read what has arrived; returns how many bytes, 0 if nothing came."""
        try:
            count = self._connection.recv_into(view, 0, flags) if self._is_guarded else self._receive_bytes(view, flags)
        except BlockingIOError:
            return 0
        except ConnectionResetError as error:
            raise SandboxClosed from error
        if not count:
            raise SandboxClosed
        return count

    def _receive_bytes(self, view: memoryview, flags: int) -> int:
        """Read bytes from a socket by which descriptors can come, too: another thread closes them, which has no clock."""
        count, passed, _, _ = self._connection.recvmsg_into([view], _PASSED_BYTES, flags | _CLOSE_ON_EXEC)
        for _, kind, data in passed:
            if kind == socket.SCM_RIGHTS:
                descriptors = array.array("i", data[: len(data) // 4 * 4])
                threading.Thread(target=_close_all, args=(descriptors,), name="closing", daemon=True).start()
                raise AgentFault(Verdict.PROTOCOL_ERROR, "the answer came with open files; send its bytes alone")
        return count

    def fileno(self) -> int:
        """See `ByteStream`."""
        return self._connection.fileno()

    def send_nowait(self, view: memoryview) -> int:
        """See `ByteStream`."""
        try:
            return self._connection.send(view, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        except (BrokenPipeError, ConnectionResetError) as error:
            raise SandboxClosed from error

    def fill_nowait(self, view: memoryview) -> int:
        """See `ByteStream`."""
        return self._receive(view, socket.MSG_DONTWAIT)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def listen(place: Path) -> socket.socket:
    """A listening Unix socket, bound through its folder's descriptor, since an address has at most 107 bytes."""
    folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        short = Path(f"/proc/self/fd/{folder}")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str((short if short.exists() else place.parent) / place.name))
    finally:
        os.close(folder)
    _refuse_descriptors(listener)  # Connections inherit it, also before they are accepted.
    listener.listen(1)
    return listener


def accept(listener: socket.socket, seconds: float, has_ended: Callable[[], bool], late: str) -> SocketStream:
    """Wait for the agent's connection; at every tick it is asked whether the sandbox `has_ended`.

    Raises:
        AgentFault: it did not connect in time; the message begins with `late`.
        SandboxClosed: the sandbox ended first.
    """
    listener.settimeout(TICK_SECONDS)
    deadline = time.monotonic() + seconds
    while (since := time.monotonic()) < deadline:
        try:
            return SocketStream(listener.accept()[0])
        except TimeoutError:
            deadline += _standstill(since)
            if has_ended():
                raise SandboxClosed from None
    raise AgentFault(Verdict.TIMEOUT, f"{late} within {seconds:g} s")


def _standstill(since: float) -> float:
    """The seconds of a wait that began at `since` in which the machine was suspended."""
    late = time.monotonic() - since - TICK_SECONDS
    return late if late > STANDSTILL_SECONDS else 0.0


def checked_deadline(deadline: float, since: float) -> float:
    """Check the deadline after a wait that began at `since`; extend it by any time the machine was suspended.

    Raises:
        AgentFault: the deadline has passed (timeout).
    """
    deadline += _standstill(since)
    if time.monotonic() > deadline:
        raise AgentFault(Verdict.TIMEOUT, "no answer within the deadline")
    return deadline


def read_body(stream: ByteStream, op: wire.Op, size: int, deadline: float) -> memoryview:
    """The body of a frame whose opcode and size are known.

    Raises:
        AgentFault: the sandbox reports an error, sends anything else, or is late.
        SandboxClosed: the sandbox closed the connection.
    """
    view = memoryview(bytearray(wire.HEADER.size + size))
    have = stream.fill(view, wire.HEADER.size, deadline)
    length, got = wire.HEADER.unpack_from(view)
    if got != op or length != size:
        require_error_frame(length, got, op, size)
        raise parse_error_frame(_read_rest(stream, view[wire.HEADER.size : have], length, deadline))
    if have < len(view):
        stream.fill(view[have:], len(view) - have, deadline)
    return view[wire.HEADER.size :]


def require_error_frame(length: int, got: int, op: int, size: int) -> None:
    """Raise AgentFault unless an unexpected header is that of an error report."""
    if got != wire.Op.ERROR or length > wire.ERROR_BYTES:
        expected = f"expected opcode {int(op)} with {size} bytes, got opcode {got} with {length}"
        raise AgentFault(Verdict.PROTOCOL_ERROR, f"the answer is not a frame of this protocol: {expected}")


def _read_rest(stream: ByteStream, begun: memoryview, length: int, deadline: float) -> bytes:
    body = memoryview(bytearray(length))
    have = min(len(begun), length)
    body[:have] = begun[:have]
    if have < length:
        stream.fill(body[have:], length - have, deadline)
    return bytes(body)


def read_json(stream: ByteStream, op: wire.Op, deadline: float) -> dict[str, Any]:
    """The body of a handshake frame.

    Raises:
        AgentFault: the sandbox reports an error, sends anything but a JSON object, or is late.
        SandboxClosed: the sandbox closed the connection.
    """
    head = memoryview(bytearray(wire.HEADER.size))
    stream.fill(head, len(head), deadline)
    length, got = wire.HEADER.unpack(head)
    if got not in (op, wire.Op.ERROR) or length > wire.ERROR_BYTES:
        raise AgentFault(Verdict.PROTOCOL_ERROR, f"the first frame has opcode {got} and {length} bytes")
    body = _read_rest(stream, memoryview(b""), length, deadline)
    if got == wire.Op.ERROR:
        raise parse_error_frame(body)
    return parse_object(body)


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a handshake frame; raises AgentFault for anything else."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise AgentFault(Verdict.PROTOCOL_ERROR, "a handshake frame does not hold a JSON object")
    return value


class AgentReportedFault(AgentFault):
    """The sandbox's own report of what went wrong, possibly on one lane."""

    def __init__(self, verdict: Verdict, message: str, lane: int | None, trace: str = "") -> None:
        super().__init__(verdict, message, trace)
        self.lane = lane


def parse_error_frame(body: bytes) -> AgentReportedFault:
    """An ERROR frame's body as a fault of the agent, whatever the frame says."""
    value = parse_object(body)
    try:
        verdict = _VERDICTS[wire.ErrorReason(str(value.get("trouble")))]
    except ValueError:
        verdict = Verdict.PROTOCOL_ERROR
    lane = value.get("lane")
    message = value.get("message")
    words = clean_text(message) if isinstance(message, str) and message.strip() else _NO_REASON
    trace = value.get("traceback")
    return AgentReportedFault(
        verdict, words + _extra_hint(words), lane if isinstance(lane, int) else None, trace if isinstance(trace, str) else ""
    )


def _extra_hint(words: str) -> str:
    """What to do about a missing module; empty if none is."""
    missing = _MISSING_MODULE.search(words)
    if missing is None:
        return ""
    if missing[1] == "gym":
        return "; import gymnasium, which took the place of gym"
    if extra := EXTRA_MODULES.get(missing[1]):
        return f"; write 'extras: [{extra}]' in the manifest"
    return "" if missing[2] else "; add its file, or bring an image that has it (kind: image)"


def clean_text(text: str) -> str:
    """Text from the sandbox with nothing hidden in it, cut to 1000 characters."""
    return visible(text)[:1000]
