"""A container's standard streams: the engine's multiplexed frames, as a log or as the channel itself."""

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator

from evaluator.host.channel import TICK, ticked
from evaluator.host.errors import HangupError
from evaluator.host.log import BoundedLog

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


def drain(connection: socket.socket, log: BoundedLog) -> threading.Thread:
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


class StandardStream:
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
                deadline = ticked(deadline, since)
            except OSError as error:
                raise HangupError from error

    def fill(self, view: memoryview, minimum: int, deadline: float) -> int:
        """See Stream."""
        while len(self._ready) < minimum:
            since = time.monotonic()
            self._receive()
            if len(self._ready) < minimum:
                deadline = ticked(deadline, since)
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
            raise HangupError from error

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
            raise HangupError from error
        if not data:
            raise HangupError
        for stream, piece in self._streams.feed(data):
            if stream == STDOUT:
                self._ready += piece
            else:
                self._log.write(piece)

    def drain(self, seconds: float) -> None:
        """After the end: read what is left for the log."""
        until = time.monotonic() + seconds
        with contextlib.suppress(HangupError):
            while time.monotonic() < until:
                self._receive()
