"""A process whose time and output have a limit, whatever it was given to work on."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Timer

_CHUNK = 1 << 16
# Of what is printed as an error nobody reads more than that.
_ERROR_BYTES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Finished:
    """How a process ended."""

    code: int
    """Its exit code; negative for a signal."""
    output: bytes
    """What it printed, up to the limit."""
    errors: bytes
    """The beginning of what it printed as errors."""
    is_late: bool
    """Whether it was stopped because its time was up."""
    is_too_long: bool
    """Whether it was stopped because it printed more than the limit."""


def run_bounded(
    command: list[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    given: Iterable[bytes],
    seconds: float,
    at_most: int,
) -> Finished:
    """Run a command to its end or to its limits; with it end the processes that it started.

    Args:
        command: the program and its arguments.
        folder: where it runs.
        environment: all its variables.
        given: its input, which is never held in memory at once.
        seconds: after that it is stopped.
        at_most: bytes; once it has printed more it is stopped.
    """
    late = Event()
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as errors:
        asked.writelines(given)
        asked.seek(0)
        process = subprocess.Popen(
            command, cwd=folder, env=dict(environment), stdin=asked, stdout=subprocess.PIPE, stderr=errors,
            start_new_session=True,
        )  # fmt: skip

        def stop_late() -> None:
            late.set()
            _stop(process)

        timer = Timer(seconds, stop_late)
        timer.daemon = True
        timer.start()
        try:
            output, is_too_long = _read(process, at_most)
            if is_too_long:
                _stop(process)
            code = process.wait()
        finally:
            timer.cancel()
            _stop(process)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        errors.seek(0)
        printed = errors.read(_ERROR_BYTES)
    return Finished(code=code, output=output, errors=printed, is_late=late.is_set(), is_too_long=is_too_long)


def _read(process: subprocess.Popen[bytes], at_most: int) -> tuple[bytes, bool]:
    """The output, and whether there was more than the limit."""
    assert process.stdout is not None
    parts, size = [], 0
    while part := process.stdout.read1(_CHUNK):  # type: ignore[attr-defined]  # a pipe is buffered
        parts.append(part)
        size += len(part)
        if size > at_most:
            return b"".join(parts), True
    return b"".join(parts), False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End it and all that it started, unless it ended already."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
