"""The standard streams of a container, which the engine sends over one connection."""

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator

from evaluator.host.errors import SandboxClosed
from evaluator.host.sandboxes.channel import TICK, checked_deadline, send_all
from evaluator.host.sandboxes.watchdog import BoundedLog

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


def drain_log(connection: socket.socket, log: BoundedLog) -> threading.Thread:
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

    def __init__(self, connection: socket.socket, log: BoundedLog) -> None:
        connection.settimeout(TICK)
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
