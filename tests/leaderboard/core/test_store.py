"""The store: a kill leaves the old state or the new one, and damaged files are named, not counted."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from leaderboard.core.store import ResultStore, write_atomically
from tests.leaderboard.make import duel, entry, result

WRITER = """
import sys
from pathlib import Path
from leaderboard.core.store import write_atomically
target = Path(sys.argv[1])
print("ready", flush=True)
while True:
    for letter in (b"a", b"b"):
        write_atomically(target, letter * 1_000_000)
"""


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(results=tmp_path / "results", traces=tmp_path / "traces")


def test_what_is_written_is_read(store: ResultStore) -> None:
    one = result(entry("alice"), [1.0, 2.0])

    path = store.write(one, b"trace")

    assert store.read() == ([one], [])
    assert store.trace_of(path).read_bytes() == b"trace"
    assert path == store.results / (one.path() + ".json")


def test_damaged_files_are_named_and_the_others_read(store: ResultStore) -> None:
    one = result(entry("alice"), [1.0, 2.0])
    path = store.write(one, None)
    damaged = path.with_name("ffffffffffff.json")
    damaged.write_bytes(b'{"schema": NaN}')

    records, faults = store.read()

    assert records == [one]
    assert [(fault.path, fault.reason) for fault in faults] == [(damaged, "expected value at line 1 column 12")]


@pytest.mark.parametrize(
    "fields",
    [
        {"message": 'says "key": 1', "platform": 'a ":" b'},
        {"message": "a :b", "log_tail": '":\n":'},
        {"metrics": {"a:b": 1.0, '"': 2.0}, "versions": {":": '"'}},
    ],
)
def test_text_that_looks_like_keys_is_read_as_it_is(store: ResultStore, fields: dict[str, object]) -> None:
    one = result(entry("alice"), [1.0, 2.0], **fields)
    path = store.write(one, None)
    path.write_bytes(json.dumps(json.loads(path.read_bytes()), indent=None, separators=(" ,", " :")).encode())

    assert store.read() == ([one], [])


def test_several_processes_read_what_one_reads(store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    every = [result(entry(f"user-{number:02}"), [float(number)]) for number in range(40)]
    paths = [store.write(one, None) for one in every]
    for path in paths[::9]:
        path.write_bytes(b'{"schema": NaN}')
    alone = store.read()

    monkeypatch.setattr("leaderboard.core.store.PARALLEL_OWNERS", 0)

    assert store.read() == alone
    assert [len(part) for part in alone] == [35, 5]


def test_a_half_written_file_is_no_result(store: ResultStore) -> None:
    path = store.write(result(entry("alice"), [1.0, 2.0]), None)
    (path.parent / ".writing-x").write_bytes(b"{")

    assert len(list(store.files())) == 1


def test_a_duel_that_is_written_is_read_and_is_no_result(store: ResultStore) -> None:
    one, alone = duel(entry("bob"), entry("Alice"), "wl"), result(entry("alice"), [1.0, 2.0])
    store.write(alone, None)

    path = store.write(one)

    assert store.read_duels() == ([one], [])
    assert store.read() == ([alone], [])
    assert path == store.path_of(one) == store.results / "game" / "Alice+agent--bob+agent" / f"{one.key[:12]}.json"
    assert list(store.duel_files()) == [path]


def test_an_agent_that_is_named_like_a_file_is_no_duel(store: ResultStore) -> None:
    single, one = result(entry("alice", agent="m.json"), [1.0]), duel(entry("bob"), entry("Alice"), "wl")
    own, path = store.write(single, None), store.write(one)

    assert own.parent.is_dir()
    assert own.parent.name == "m.json"
    assert list(store.files()) == [own]
    assert list(store.duel_files()) == [path]
    assert store.read() == ([single], [])
    assert store.read_duels() == ([one], [])
    (path.parent / "folder.json").mkdir()
    (own.parent / "folder.json").mkdir()
    assert list(store.files()) == [own]
    assert list(store.duel_files()) == [path]


def _edited(**fields: object) -> bytes:
    document = duel(entry("alice"), entry("bob"), "wl").document()
    return json.dumps({**document, **fields}).encode()


def _leaf(**fields: object) -> dict[str, object]:
    moves = duel(entry("alice"), entry("bob"), "wl").document()["moves"]
    return {**moves, **fields}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b'{"schema": NaN}',
        b"[" * 100_000,
        b'{"schema": ' + b"9" * 5000 + b"}",
        b'{"a": "\\ud800"}',
        _edited(kind="result"),
        _edited(matches=[]),
        _edited(moves=_leaf(data="AAAA")),
        _edited(moves=_leaf(data="!")),
        _edited(moves=_leaf(dtype="<f8")),
        _edited(moves=_leaf(dtype="O")),
        _edited(moves=_leaf(shape=[1])),
        _edited(moves=_leaf(shape=[1 << 20] * 8)),
        _edited(milliseconds=_leaf(data="AAAA")),
        _edited(matches=[{**m, "plies": 10**30} for m in duel(entry("alice"), entry("bob"), "wl").document()["matches"]]),
        result(entry("alice"), [1.0]).serialised(),
    ],
    ids=lambda content: content[:12].decode("latin1") + str(len(content)),
)
def test_whatever_lies_where_a_duel_would_is_named_as_damaged(store: ResultStore, content: bytes) -> None:
    one = duel(entry("alice"), entry("bob"), "wl")
    damaged = store.write(one).with_name("ffffffffffff.json")
    damaged.write_bytes(content)

    records, faults = store.read_duels()

    assert records == [one]
    assert [fault.path for fault in faults] == [damaged]
    assert "\n" not in faults[0].reason


def test_a_folder_where_a_file_should_be_is_damaged(store: ResultStore) -> None:
    one = store.results / "game" / "alice+x--bob+y" / "agent"
    (one / "ffffffffffff.json").mkdir(parents=True)
    (one.parent / "eeeeeeeeeeee.json").mkdir()

    assert [fault.path.name for fault in store.read()[1]] == ["ffffffffffff.json"]
    assert [fault.path.name for fault in store.read_duels()[1]] == ["eeeeeeeeeeee.json"]


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


def test_what_a_killed_writer_left_is_gone_after_the_next_write(tmp_path: Path) -> None:
    target = tmp_path / "file.json"
    (tmp_path / ".writing-file.json").write_bytes(b"much longer than what comes next")

    write_atomically(target, b"short")

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file.json": b"short"}


def test_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    target = tmp_path / "file.json"
    contents = [bytes([97 + number]) * (1 + number * 40_000) for number in range(12)]

    with ThreadPoolExecutor(12) as pool:
        for _ in range(5):
            list(pool.map(lambda content: write_atomically(target, content), contents))

            assert target.read_bytes() in contents
            assert [path.name for path in tmp_path.iterdir()] == ["file.json"]


def test_link_in_place_of_the_unfinished_file_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"mine")
    (tmp_path / ".writing-file.json").symlink_to(elsewhere)

    with pytest.raises(OSError, match="symbolic links"):
        write_atomically(tmp_path / "file.json", b"x")

    assert elsewhere.read_bytes() == b"mine"


def test_a_retry_is_known_by_its_name(store: ResultStore) -> None:
    assert not store.has_retries()
    path = store.write(result(entry("alice"), [1.0]), None)
    assert not store.has_retries()

    path.rename(path.with_name(f"{path.stem}.try1.json"))

    assert store.has_retries()
