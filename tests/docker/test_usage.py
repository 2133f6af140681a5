"""What the engine's statistics and the cgroup files say of a container: recorded payloads, a fake tree, a real one."""

import json
import time
from pathlib import Path

import pytest

from evaluator.host.docker.engine import Engine, container_usage, read_usage
from evaluator.host.sandboxes.process_sandbox import ControlGroup
from evaluator.host.usage import Usage, sockets_in_network
from tests.hostile.arena import base

PAYLOADS = Path(__file__).parent / "payloads"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("v1_running", Usage(cpu_seconds=0.184461491, peak_memory_bytes=15884288)),
        ("v2_running", Usage(cpu_seconds=1.842461, peak_memory_bytes=None)),
        ("v2_ended", Usage(cpu_seconds=None, peak_memory_bytes=None)),
    ],
)
def test_recorded_statistics_are_read(name: str, expected: Usage) -> None:
    assert read_usage(json.loads((PAYLOADS / f"{name}.json").read_text())) == expected


@pytest.mark.parametrize("payload", [{}, {"cpu_stats": {}}, {"memory_stats": {}}, {"cpu_stats": {"cpu_usage": {}}}])
def test_statistics_that_lack_everything_are_unknown(payload: dict[str, object]) -> None:
    assert read_usage(payload) == Usage()


@pytest.mark.parametrize("place", ["system.slice/docker-f00d.scope", "docker/f00d"])
@pytest.mark.parametrize(
    "files",
    [
        {"{place}/cpu.stat": "usage_usec 2500000\nuser_usec 2000000\n", "{place}/memory.peak": "4096\n"},
        {"cpuacct/{place}/cpuacct.usage": "2500000000\n", "memory/{place}/memory.max_usage_in_bytes": "4096\n"},
    ],
)
def test_a_containers_group_is_found_in_either_version_and_under_either_driver(
    files: dict[str, str], place: str, tmp_path: Path
) -> None:
    for name, content in files.items():
        path = tmp_path / name.format(place=place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    assert container_usage(tmp_path, "f00d") == Usage(cpu_seconds=2.5, peak_memory_bytes=4096)


def test_sockets_are_those_of_a_network_also_where_a_process_has_just_ended(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").write_text("7\n8\n")
    (tmp_path / "8/net").mkdir(parents=True)
    (tmp_path / "8/net/sockstat").write_text("sockets: used 513\nTCP: inuse 2 orphan 0 tw 9 alloc 600 mem 4\n")

    assert sockets_in_network(tmp_path, processes=tmp_path) == 513
    assert sockets_in_network(tmp_path / "none", processes=tmp_path) is None


@pytest.mark.parametrize("content", ["", "max\n", "usage_usec much\n"])
def test_what_cannot_be_read_in_a_group_is_unknown(content: str, tmp_path: Path) -> None:
    (tmp_path / "docker/f00d").mkdir(parents=True)
    for name in ("cpu.stat", "memory.peak"):
        (tmp_path / "docker/f00d" / name).write_text(content)

    assert container_usage(tmp_path, "f00d") == container_usage(tmp_path, "0000") == Usage()


@pytest.mark.parametrize(
    ("unified", "files", "expected", "killed"),
    [
        (
            True,
            {"cpu.stat": "usage_usec 2500000\nuser_usec 2000000\n", "memory.peak": "1048576\n",
             "memory.events": "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n"},
            Usage(cpu_seconds=2.5, peak_memory_bytes=1048576),
            True,
        ),
        (
            True,
            {"cpu.stat": "usage_usec 0\n", "memory.events": "oom 1\noom_kill 0\n"},
            Usage(cpu_seconds=0.0, peak_memory_bytes=None),
            False,
        ),
        (
            False,
            {"cpuacct.usage": "1500000000\n", "memory.max_usage_in_bytes": "4096\n",
             "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"},
            Usage(cpu_seconds=1.5, peak_memory_bytes=4096),
            True,
        ),
        (False, {}, Usage(), False),
    ],
)  # fmt: skip
def test_group_files_are_read(unified: bool, files: dict[str, str], expected: Usage, killed: bool, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    places = dict.fromkeys(("memory", "pids", "cpu", "cpuacct"), tmp_path)

    group = ControlGroup(folders=places, unified=unified)

    assert group.usage() == expected
    assert group.killed_by_memory() is killed


@pytest.mark.docker
def test_real_statistics_are_read(engine: Engine) -> None:
    source = "x = bytearray(b'y') * (50 << 20)\nwhile True: pass"
    container = engine._api.create_container(base(), ["python3", "-c", source])["Id"]
    try:
        engine.start(container)
        first = engine.usage(container)
        while (first.cpu_seconds or 0) < 0.5:
            first = engine.usage(container)
        second = engine.usage(container)
        until = time.monotonic() + 60
        while second.cpu_seconds == first.cpu_seconds and time.monotonic() < until:
            second = engine.usage(container)
        engine.kill(container)
        ended = engine.usage(container)
    finally:
        engine.remove(container)

    assert (first.cpu_seconds or 0) < (second.cpu_seconds or 0)
    assert second.peak_memory_bytes is None or second.peak_memory_bytes > 50 << 20
    assert ended.cpu_seconds is None
