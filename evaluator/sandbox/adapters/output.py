"""What a process of another system prints, on its way to the log: its beginning, and its end where it fails.

Such agents were written for a platform that keeps everything they say, and print every step. A log has its limit here.
"""

import sys
import threading
from typing import IO

# In all, of every process that is started for one evaluation.
BEGINNING_BYTES = 32 * 1024
END_BYTES = 4 * 1024


class Output:
    """Lets through what still fits, and remembers the end of the rest."""

    def __init__(self) -> None:
        self._left = BEGINNING_BYTES
        self._end = b""
        self._thread = threading.Thread()

    def follow(self, stream: IO[bytes]) -> None:
        """Read one process's output until it ends, beside everything else."""
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

    def failed(self) -> None:
        """The process is gone: show the end of what it said, where that was not shown yet."""
        self._thread.join(timeout=1)
        _write(self._end)


def _write(data: bytes) -> None:
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()
