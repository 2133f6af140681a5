"""The store: a kill leaves the old state or the new one, and damaged files are named, not counted."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leaderboard.store import Store, write_atomically
from tests.leaderboard.make import entry, result

WRITER = """
import sys
from pathlib import Path
from leaderboard.store import write_atomically
target = Path(sys.argv[1])
print("ready", flush=True)
while True:
    for letter in (b"a", b"b"):
        write_atomically(target, letter * 1_000_000)
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(results=tmp_path / "results", traces=tmp_path / "traces")


def test_what_is_written_is_read(store: Store) -> None:
    one = result(entry("alice"), [1.0, 2.0])

    path = store.write(one, b"trace")

    assert store.read() == ([one], [])
    assert store.trace_of(path).read_bytes() == b"trace"
    assert path == store.results / (one.path() + ".json")


def test_damaged_files_are_named_and_the_others_read(store: Store) -> None:
    one = result(entry("alice"), [1.0, 2.0])
    path = store.write(one, None)
    damaged = path.with_name("ffffffffffff.json")
    damaged.write_bytes(b'{"schema": NaN}')

    found, faults = store.read()

    assert found == [one]
    assert [(fault.path, fault.reason) for fault in faults] == [(damaged, "NaN is not JSON")]


def test_a_half_written_file_is_no_result(store: Store) -> None:
    path = store.write(result(entry("alice"), [1.0, 2.0]), None)
    (path.parent / ".writing-x").write_bytes(b"{")

    assert len(list(store.files())) == 1


@pytest.mark.parametrize("round_", range(8))
def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path: Path, round_: int) -> None:
    target = tmp_path / "file.json"
    write_atomically(target, b"a" * 1_000_000)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(target)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.readline()
    time.sleep(random.Random(round_).uniform(0.0, 0.05))
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    writer.stdout.close()

    content = target.read_bytes()

    assert content in (b"a" * 1_000_000, b"b" * 1_000_000)


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(tmp_path / "file.json", b"x")

    assert list(tmp_path.iterdir()) == []
