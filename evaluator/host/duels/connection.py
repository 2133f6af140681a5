"""The connection to one player, which never blocks, since its opponent has a clock too."""

import contextlib
import select
import time
from collections import deque

from evaluator import wire
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.sandboxes.channel import ByteStream, parse_error_frame, require_error_frame


class PlayerConnection:
    """Sends and reads without blocking. `ends`: whether the player is told how matches end."""

    def __init__(self, stream: ByteStream, *, ends: bool = False) -> None:
        self._stream = stream
        self.ends = ends
        self._out: deque[memoryview] = deque()
        self._broken = False
        self._view = memoryview(b"")
        self._have = 0
        self._size = 0
        self._is_error_report = False
        self.waiting = False

    def fileno(self) -> int:
        """The descriptor for `poll`."""
        return self._stream.fileno()

    @property
    def send_blocked(self) -> bool:
        """Whether data waits to be sent."""
        return bool(self._out) and not self._broken

    def send(self, frame: bytes) -> None:
        """Send a frame that has no answer."""
        self._out.append(memoryview(frame))
        self._flush()

    def ask(self, frame: bytes, size: int) -> None:
        """Send a frame whose answer's body has `size` bytes."""
        self._view, self._have, self._size = memoryview(bytearray(wire.HEADER.size + size)), 0, size
        self.waiting = True
        self.send(frame)

    def _flush(self) -> None:
        """Send what can be sent. A closed connection is noted only: the reason may still be read from it."""
        try:
            while self._out and not self._broken:
                count = self._stream.send_nowait(self._out[0])
                if not count:
                    return
                self._out[0] = self._out[0][count:]
                if not self._out[0]:
                    self._out.popleft()
        except SandboxClosed:
            self._broken = True

    def read_answer(self) -> memoryview | None:
        """The body of the awaited answer; None while it is incomplete.

        Raises:
            AgentFault: the sandbox reports an error, or sends anything else.
            SandboxClosed: the sandbox closed the connection.
        """
        if self._out:
            self._flush()
        if not self.waiting:
            return None
        while self._have < len(self._view):
            count = self._stream.fill_nowait(self._view[self._have :])
            if not count:
                return None
            begun = self._have < wire.HEADER.size
            self._have += count
            if begun and self._have >= wire.HEADER.size:
                self._read_header()
        self.waiting = False
        body = self._view[wire.HEADER.size :]
        if self._is_error_report:
            raise parse_error_frame(bytes(body))
        return body

    def close_politely(self, until: float) -> None:
        """Send CLOSE and wait until the player ends, at most until `until`: it may still be told of its last matches."""
        self.send(wire.frame(wire.Op.CLOSE))
        scrap = memoryview(bytearray(256))
        poll = select.poll()
        with contextlib.suppress(SandboxClosed, AgentFault):  # What comes now counts no more.
            while (left := until - time.monotonic()) > 0:
                self._flush()
                if not self._stream.fill_nowait(scrap):
                    poll.register(self.fileno(), select.POLLIN | select.POLLOUT * self.send_blocked)
                    poll.poll(1000 * left)

    def _read_header(self) -> None:
        length, got = wire.HEADER.unpack_from(self._view)
        if got == wire.Op.ACTIONS and length == self._size:
            return
        require_error_frame(length, got, wire.Op.ACTIONS, self._size)
        self._is_error_report = True
        report = memoryview(bytearray(wire.HEADER.size + length))
        self._have = min(self._have, len(report))
        report[: self._have] = self._view[: self._have]
        self._view = report
