"""Child processes with limits of time and output."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Timer

_READ_BYTES = 1 << 16
# More of stderr is not read.
_STDERR_BYTES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class FinishedProcess:
    """How a process ended."""

    code: int
    output: bytes
    errors: bytes
    """The beginning of stderr."""
    is_late: bool
    """Whether it was stopped because its time was up."""
    is_too_long: bool
    """Whether it was stopped because it printed more than the limit."""


@contextmanager
def bounded_process(
    command: list[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    input_chunks: Iterable[bytes] = (),
    seconds: float,
    at_most: int,
) -> Iterator[Callable[[], FinishedProcess]]:
    """Run a command beside the block, which is given a function that waits for its end or its limits.

    At the block's end it is killed, with the processes that it started. `input_chunks`: its standard input, which is never
    held in memory at once. `at_most`: limit of its output in bytes.
    """
    late = Event()
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as errors:
        stdin.writelines(input_chunks)
        stdin.seek(0)
        process = subprocess.Popen(
            command, cwd=folder, env=dict(environment), stdin=stdin, stdout=subprocess.PIPE, stderr=errors,
            start_new_session=True,
        )  # fmt: skip

        def stop_late() -> None:
            late.set()
            _stop(process)

        def finish() -> FinishedProcess:
            output, is_too_long = _read_output(process, at_most)
            if is_too_long:
                _stop(process)
            code = process.wait()
            errors.seek(0)
            printed = errors.read(_STDERR_BYTES)
            return FinishedProcess(code=code, output=output, errors=printed, is_late=late.is_set(), is_too_long=is_too_long)

        timer = Timer(seconds, stop_late)
        timer.daemon = True
        timer.start()
        try:
            yield finish
        finally:
            timer.cancel()
            _stop(process)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def _read_output(process: subprocess.Popen[bytes], at_most: int) -> tuple[bytes, bool]:
    """The output, and whether it exceeded the limit."""
    assert process.stdout is not None
    parts, size = [], 0
    while part := process.stdout.read1(_READ_BYTES):  # type: ignore[attr-defined]  # a pipe is buffered
        parts.append(part)
        size += len(part)
        if size > at_most:
            return b"".join(parts), True
    return b"".join(parts), False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its group, which may outlive it; not after `wait`, when its number may be another's."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
