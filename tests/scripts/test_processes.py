"""A child process ends within its limits, and nothing that it started stays."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from scripts.processes import FinishedProcess, bounded_process


def run(script: str, *, given: bytes = b"", seconds: float = 60, at_most: int = 1000) -> FinishedProcess:
    command = [sys.executable, "-c", script]
    with bounded_process(
        command, folder=Path(), environment=os.environ, input_chunks=[given], seconds=seconds, at_most=at_most
    ) as finish:
        return finish()


def test_a_process_is_given_its_input_and_told_apart_by_its_output_and_code() -> None:
    done = run("import sys; print(sys.stdin.read()); print('why', file=sys.stderr); sys.exit(4)", given=b"hello")

    assert (done.code, done.output, done.errors) == (4, b"hello\n", b"why\n")
    assert (done.is_late, done.is_too_long) == (False, False)


def test_a_process_is_stopped_when_its_time_is_up() -> None:
    assert run("import time; time.sleep(600)", seconds=0.2).is_late


def test_a_process_that_prints_too_much_is_stopped() -> None:
    done = run("while True: print('x' * 1000)")

    assert (done.is_too_long, done.is_late) == (True, False)


def test_a_process_that_ended_and_left_a_child_with_its_output_is_stopped_in_time() -> None:
    script = "import subprocess; subprocess.Popen(['sleep', '600'])"

    assert run(script, seconds=2).is_late


def test_a_process_beside_a_block_that_fails_is_killed(tmp_path: Path) -> None:
    written = tmp_path / "pid"
    script = f"import os, time; open({str(written)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    command = [sys.executable, "-c", script]
    with (
        suppress(ZeroDivisionError),
        bounded_process(command, folder=tmp_path, environment=os.environ, seconds=60, at_most=10),
    ):
        while not written.exists() or not written.read_text():
            time.sleep(0.01)
        raise ZeroDivisionError

    with pytest.raises(ProcessLookupError):
        os.kill(int(written.read_text()), 0)
