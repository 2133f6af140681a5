"""The output of another system's process: its beginning goes to the log, and after a failure its end.

Such agents print every step, as their platforms keep all output; here a log has a limit.
"""

import sys
import threading
from typing import IO

# For all processes of an evaluation together.
BEGINNING_BYTES = 32 * 1024
END_BYTES = 4 * 1024


class ProcessOutput:
    """Writes output to the log up to a limit, and remembers the end of the rest."""

    def __init__(self) -> None:
        self._left = BEGINNING_BYTES
        self._end = b""
        self._thread = threading.Thread()

    def follow(self, stream: IO[bytes]) -> None:
        """Read a process's output in a thread until it ends."""
        self._end = b""
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while data := stream.read1(1 << 16):  # type: ignore[attr-defined]
                self._show(data)

    def _show(self, data: bytes) -> None:
        shown, rest = data[: self._left], data[self._left :]
        if shown:
            _write(shown)
        if rest and self._left:
            _write(b"\npullrank: from here on only the end of what fails is shown\n")
        self._left -= len(shown)
        self._end = (self._end + rest)[-END_BYTES:]

    def show_end(self) -> None:
        """After a failure, show the end of the output that was not shown yet."""
        self._thread.join(timeout=1)
        _write(self._end)


def _write(data: bytes) -> None:
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()
