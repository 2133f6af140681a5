"""Why a locked-down container ended, by what the engine and the watchdog say; the engine is a table."""

import socket
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.host.docker.container_options import SYSCTLS, ContainerOptions, untrusted_host_config
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.sandboxes.docker_sandbox import REMOVAL, DockerConfig, DockerSandbox
from evaluator.host.sandboxes.resource_watchdog import MOST_SOCKETS, ResourceWatchdog
from evaluator.host.sandboxes.sandbox import SandboxKind, SandboxSpec
from evaluator.host.usage import Usage
from evaluator.model.config.limits import Limits
from evaluator.model.records.verdict import Verdict

LIMITS = Limits(memory_mib=100)
MIB = 1 << 20
KILLED: dict[str, Any] = {"Running": False, "OOMKilled": False, "ExitCode": 137}
STILL_RUNNING = {"Running": True, "ExitCode": 0}


class Table:
    """An engine that answers from a table, as Docker 28 on cgroup v2: no event, no OOMKilled."""

    def __init__(self, state: dict[str, Any], *, event: bool = False, readings: Iterable[Usage] = ()) -> None:
        self.state_said, self.event = state, event
        self.readings = iter(readings)
        self.stopped, self.process, self.killed = False, (7, "100"), False
        self.ours, self.theirs = socket.socketpair()
        self.removed_by: list[str] = []
        self.failures = 0
        self.may_remove = threading.Event()
        self.may_remove.set()

    def create(self, *_: Any) -> str:
        return "f00d"

    def attach(self, *_: Any, **__: Any) -> socket.socket:
        return self.ours

    def start(self, container: str) -> None: ...

    def kill(self, container: str) -> None:
        self.killed = True

    def limit_share(self, container: str, cpus: float) -> None:
        raise EngineError("cannot update a stopped container")

    def remove(self, container: str) -> None:
        self.may_remove.wait(10)
        if self.failures:
            self.failures -= 1
            raise EngineError("unable to remove filesystem: directory not empty")
        self.removed_by.append(threading.current_thread().name)
        self.theirs.close()

    def usage(self, container: str) -> Usage:
        return next(self.readings, Usage())

    def state(self, container: str) -> dict[str, Any]:
        return self.state_said

    def ran_out_of_memory(self, container: str) -> bool:
        return self.event

    def was_stopped(self, container: str) -> bool:
        return self.stopped

    def incarnation(self) -> tuple[int, str]:
        return self.process


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    jails: list[DockerSandbox] = []

    def make(engine: Table) -> DockerSandbox:
        walls = DockerConfig(engine=engine, image="sha256:0", kind=SandboxKind.DOCKER, over_socket=True)  # type: ignore[arg-type]
        jails.append(DockerSandbox(walls, SandboxSpec(folder=tmp_path, entry="agent.py", limits=LIMITS)))
        return jails[-1]

    yield make
    for jail in jails:
        jail.close()


@pytest.mark.parametrize(
    ("state", "event", "peak", "verdict"),
    [
        (KILLED, False, 95 * MIB, Verdict.OUT_OF_MEMORY),  # containerd #12380: the event never comes
        (KILLED, False, 100 * MIB, Verdict.OUT_OF_MEMORY),
        (KILLED, False, 94 * MIB, Verdict.CRASHED),
        (KILLED, False, None, Verdict.CRASHED),
        (KILLED, True, None, Verdict.OUT_OF_MEMORY),
        ({**KILLED, "OOMKilled": True}, False, None, Verdict.OUT_OF_MEMORY),
        ({**KILLED, "ExitCode": 1}, False, 100 * MIB, Verdict.CRASHED),
        (STILL_RUNNING, True, None, Verdict.OUT_OF_MEMORY),  # gVisor ends late
        (STILL_RUNNING, False, 100 * MIB, Verdict.CRASHED),
    ],
)
def test_a_kill_at_the_memory_limit_is_out_of_memory(
    opened: Any, state: dict[str, Any], event: bool, peak: int | None, verdict: Verdict
) -> None:
    jail = opened(Table(state, event=event))
    jail._watch.seen = Usage(peak_memory_bytes=peak)

    assert jail.post_mortem().verdict is verdict


def test_a_kill_of_ours_is_not_the_kernels(opened: Any) -> None:
    jail = opened(Table(KILLED))
    jail._watch.seen = Usage(peak_memory_bytes=100 * MIB)
    jail.end()

    assert jail.post_mortem().verdict is Verdict.CRASHED


def test_nothing_waits_for_the_removal_of_a_container_that_was_killed(opened: Any) -> None:
    engine = Table(KILLED)
    jail = opened(engine)
    jail.end()
    engine.may_remove.clear()
    before = threading.enumerate()
    jail.close()
    [removal] = [thread for thread in threading.enumerate() if thread.name == REMOVAL and thread not in before]

    assert engine.removed_by == []
    assert not removal.daemon  # the process waits for it before it ends
    engine.may_remove.set()
    removal.join(10)
    assert engine.removed_by == [REMOVAL]
    assert not jail._scratch.exists()


def test_a_container_that_was_not_killed_is_gone_when_it_is_closed(opened: Any) -> None:
    engine = Table({"Running": True})
    jail = opened(engine)
    jail.close()

    assert engine.removed_by == [threading.current_thread().name]
    assert not jail._scratch.exists()


def test_the_watchdogs_own_kill_keeps_its_reason(opened: Any) -> None:
    jail = opened(Table(KILLED))
    jail._watch.seen = Usage(peak_memory_bytes=100 * MIB)
    jail._watch.reason = "the evaluation took more than 1 seconds"

    assert jail.post_mortem().verdict is Verdict.TIMEOUT


def test_the_last_reading_outlives_the_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.host.sandboxes.resource_watchdog.PERIOD_SECONDS", 0.001)
    readings = iter([Usage(cpu_seconds=1.0, peak_memory_bytes=7), Usage(), Usage(), Usage()])
    stopped: list[None] = []

    def measure() -> Usage:
        reading = next(readings, None)
        return Usage(cpu_seconds=LIMITS.cpu_seconds + 1) if reading is None else reading

    watchdog = ResourceWatchdog(LIMITS, measure, lambda: stopped.append(None))
    watchdog.start()
    watchdog._thread.join(10)

    assert watchdog.seen.peak_memory_bytes == 7
    assert stopped == [None]


def test_time_that_the_machine_slept_is_not_the_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("evaluator.host.sandboxes.resource_watchdog.time", SimpleNamespace(monotonic=lambda: now))
    watchdog = ResourceWatchdog(LIMITS, Usage, lambda: None, wall_seconds=100)
    now += 50

    assert watchdog._excess() is None
    now += 90_000
    assert watchdog._excess() is None
    now += 40
    assert watchdog._excess() is None
    now += 40
    assert watchdog._excess() == "the evaluation took more than 100 seconds"


def test_too_many_sockets_are_memory_that_no_limit_counts() -> None:
    watchdog = ResourceWatchdog(LIMITS, lambda: Usage(sockets=MOST_SOCKETS + 1), lambda: None, most_sockets=MOST_SOCKETS)
    elsewhere = ResourceWatchdog(LIMITS, lambda: Usage(sockets=MOST_SOCKETS + 1), lambda: None, wall_seconds=0)
    for each in (watchdog, elsewhere):
        each.start()
        each._thread.join(10)

    assert watchdog.verdict is Verdict.OUT_OF_MEMORY
    assert str(MOST_SOCKETS) in str(watchdog.reason)
    assert elsewhere.verdict is Verdict.TIMEOUT


def test_what_one_socket_holds_is_limited_where_there_are_any() -> None:
    of = [ContainerOptions(runtime=runtime, loopback=loopback) for runtime in (None, "runsc") for loopback in (True, False)]

    assert [untrusted_host_config(LIMITS, options)["sysctls"] for options in of] == [SYSCTLS, {}, {}, {}]


def test_a_container_is_measured_as_soon_as_it_runs(opened: Any) -> None:
    """One that ends within a second had no cost."""
    jail = opened(Table(KILLED, readings=[Usage(cpu_seconds=0.5, peak_memory_bytes=7)]))
    until = time.monotonic() + 10
    while jail.usage() == Usage() and time.monotonic() < until:
        time.sleep(0.01)

    assert jail.usage() == Usage(cpu_seconds=0.5, peak_memory_bytes=7)


def test_a_dying_container_does_not_lower_its_cost(opened: Any) -> None:
    dying = Usage(cpu_seconds=0.001, peak_memory_bytes=4096)
    jail = opened(Table(KILLED, readings=[Usage(cpu_seconds=3.0, peak_memory_bytes=9 * MIB), *[dying] * 1000]))
    until = time.monotonic() + 10
    while jail._watch.seen.cpu_seconds is None and time.monotonic() < until:
        time.sleep(0.01)

    assert jail.usage() == Usage(cpu_seconds=3.0, peak_memory_bytes=9 * MIB)


def test_the_watchdog_keeps_the_largest_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.host.sandboxes.resource_watchdog.PERIOD_SECONDS", 0.001)
    amounts = [(2.0, 7), (0.5, 9), (1.0, None), (LIMITS.cpu_seconds + 1, 1)]
    measured = iter(Usage(cpu_seconds=cpu, peak_memory_bytes=peak) for cpu, peak in amounts)
    watchdog = ResourceWatchdog(LIMITS, lambda: next(measured, Usage()), lambda: None)
    kept: list[Usage] = []
    monkeypatch.setattr(watchdog, "_excess", lambda: (kept.append(watchdog.seen), "over" if len(kept) == 4 else None)[1])
    watchdog.start()
    watchdog._thread.join(10)

    assert [usage.cpu_seconds for usage in kept] == [2.0, 2.0, 2.0, LIMITS.cpu_seconds + 1]
    assert [usage.peak_memory_bytes for usage in kept] == [7, 9, 9, 9]


@pytest.mark.parametrize("code", [137, 143])
def test_a_stop_by_the_engine_is_not_the_agents(opened: Any, code: int) -> None:
    restarted, stopped, itself = (Table({**KILLED, "ExitCode": code}) for _ in range(3))
    jails = [opened(table) for table in (restarted, stopped, itself)]
    restarted.process = (7, "200")
    stopped.stopped = True

    with pytest.raises(EngineError, match="the container engine was restarted"):
        jails[0].post_mortem()
    with pytest.raises(EngineError, match="somebody stopped"):
        jails[1].post_mortem()
    assert jails[2].post_mortem().verdict is Verdict.CRASHED


def test_an_agents_own_end_is_not_the_engines(opened: Any) -> None:
    table = Table({**KILLED, "ExitCode": 3})
    jail = opened(table)
    table.process, table.stopped = (8, "200"), True

    assert jail.post_mortem().verdict is Verdict.CRASHED


def test_a_container_that_could_not_be_removed_is_tried_again(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Docker wrote down events of the container while it removed its folder, and left it behind as dead."""
    monkeypatch.setattr("evaluator.host.sandboxes.docker_sandbox.REMOVAL_PAUSE_SECONDS", 0.0)
    engine = Table(KILLED)
    engine.failures = 2
    opened(engine).close()

    assert len(engine.removed_by) == 1


@pytest.mark.attack(
    "script_whose_children_hide_its_end", family="exhaustion", outcome="its own end: out_of_memory",
    tries="Has its children killed for memory so often that the engine is late to see its end, which it chooses when it "
    "learnt badly: a share of processor time that could not be set was our failure.",
)  # fmt: skip
def test_an_end_that_the_engine_does_not_see_yet_is_the_agents(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.host.sandboxes.docker_sandbox.STATE_SECONDS", 0.0)
    engine = Table(STILL_RUNNING, event=True)
    jail = opened(engine)

    jail.limit_share()

    assert jail.post_mortem().verdict is Verdict.OUT_OF_MEMORY
    for killer in jail._killers:
        killer.join()
    assert engine.killed

    with pytest.raises(EngineError):
        opened(Table(STILL_RUNNING)).limit_share()
