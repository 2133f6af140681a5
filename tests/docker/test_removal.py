"""A container is removed on every path, and never a neighbour's."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.deterministic import pinned_variables
from evaluator.host.docker import engine as container_module
from evaluator.host.docker.engine import OWNER_LABEL, Engine
from evaluator.host.process_owner import ProcessOwner, this_process
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.solo.evaluate_agent import evaluate_agent
from evaluator.model.records.verdict import Verdict
from tests.hostile.arena import base, order_of, our_containers, play, write_agent

pytestmark = pytest.mark.docker
ROOT = Path(__file__).resolve().parents[2]
HONEST = "class Agent:\n    def act(self, observation):\n        return 0\n"
SLOW = "import time\n\n\nclass Agent:\n    def act(self, observation):\n        time.sleep(0.1)\n        return 0\n"
# The command, with a label of the test's own.
COMMAND = """
import sys
from evaluator.host.docker import engine
engine.OWNER_LABEL = sys.argv.pop(1)
from scripts.cli import main
sys.exit(main())
"""
CHALLENGE = "title: T\nseason: '1'\ntasks: [{id: CartPole-v1}]\n"


@pytest.mark.parametrize(
    ("source", "verdict", "seconds"),
    [
        (HONEST, Verdict.OK, 60),
        ("raise ValueError\n", Verdict.CRASHED, 60),
        ("import os\nos._exit(3)\n", Verdict.CRASHED, 60),
        ("import time\ntime.sleep(1000)\n", Verdict.TIMEOUT, 3),
    ],
)
def test_container_is_gone_whatever_the_verdict(
    source: str, verdict: Verdict, seconds: int, docker: SelectedSandbox, engine: Engine, tmp_path: Path
) -> None:
    order = order_of(write_agent(tmp_path / "a", source), limits={"start_seconds": seconds})

    assert play(order, docker).result.verdict is verdict

    assert our_containers(engine) == []


def test_container_is_gone_after_a_failure_of_ours(docker: SelectedSandbox, engine: Engine, tmp_path: Path) -> None:
    def fail(done: int) -> None:
        raise ZeroDivisionError("the referee stumbles")

    order = order_of(write_agent(tmp_path / "a", HONEST))
    result = evaluate_agent(order, docker.kind, docker.opener, lambda: datetime.now(UTC), fail).result

    assert result.verdict is Verdict.INTERNAL_ERROR
    assert result.message.startswith("ZeroDivisionError at test_removal.py:")
    assert our_containers(engine) == []


def test_container_is_gone_after_an_interrupt(docker: SelectedSandbox, engine: Engine, tmp_path: Path) -> None:
    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    order = order_of(write_agent(tmp_path / "a", HONEST))
    with pytest.raises(KeyboardInterrupt):
        evaluate_agent(order, docker.kind, docker.opener, lambda: datetime.now(UTC), interrupt)

    assert our_containers(engine) == []


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> str:
    """A label of this test's own, since whoever begins to evaluate beside it reaps, too."""
    label = f"org.pullrank.test-{uuid.uuid4().hex}"
    monkeypatch.setattr(container_module, "OWNER_LABEL", label)
    return label


@contextlib.contextmanager
def evaluating(engine: Engine, name: str, root: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A `pullrank evaluate` of its own, and its running container."""
    root.mkdir()
    (root / "challenge.yml").write_text(CHALLENGE)
    write_agent(root / "slow", SLOW)
    environment = {**os.environ, "BASE_IMAGE": base(), "PYTHONPATH": str(ROOT), "TMPDIR": str(root)}
    command = [sys.executable, "-m", "scripts.cli", "evaluate", "slow", "--sandbox", "docker"]
    if name != OWNER_LABEL:
        # Pinned already, so that it does not start itself anew without that label.
        environment |= {**pinned_variables(), "PULLRANK_PINNED": "1"}
        command[1:3] = ["-c", COMMAND, name]
    process = subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        yield process, running_of(engine, name, process)
    finally:
        process.kill()
        process.communicate()


def running_of(engine: Engine, name: str, process: subprocess.Popen[bytes]) -> str:
    """The container whose label names the process, once it runs."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        for container in engine._api.containers(filters={"label": name}):
            if json.loads(container["Labels"][name])["pid"] == process.pid:
                return str(container["Id"])
        assert process.poll() is None, process.communicate()[0].decode()
        time.sleep(0.1)
    raise AssertionError("no container came")


def exists(engine: Engine, container: str) -> bool:
    return any(c["Id"] == container for c in engine._api.containers(all=True))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_evaluator_that_is_stopped_takes_its_container_along(
    number: int, engine: Engine, alone: str, tmp_path: Path
) -> None:
    with evaluating(engine, OWNER_LABEL, tmp_path / "board") as (process, container):
        process.send_signal(number)
        output, _ = process.communicate(timeout=120)

    assert process.returncode == 130
    assert b"Traceback" not in output
    assert not exists(engine, container)
    assert [path.name for path in (tmp_path / "board").glob("pullrank-*")] == []


def test_evaluator_that_is_killed_leaves_an_orphan_that_the_next_one_reaps(
    engine: Engine, alone: str, tmp_path: Path
) -> None:
    with evaluating(engine, alone, tmp_path / "neighbour") as (neighbour, living):
        with evaluating(engine, alone, tmp_path / "board") as (process, orphan):
            process.kill()
            process.wait()
        assert exists(engine, orphan)

        other = Engine()
        assert other.remove_orphans() == 1
        other.close()

        assert not exists(engine, orphan)
        assert exists(engine, living)
        assert engine.state(living)["Running"]
        assert neighbour.poll() is None


@contextlib.contextmanager
def labelled(engine: Engine, name: str, label: str, *, running: bool) -> Iterator[str]:
    """A harmless container with that label."""
    made = engine._api.create_container(base(), ["sleep", "600"], labels={name: label}, network_disabled=True)
    container = str(made["Id"])
    try:
        if running:
            engine.start(container)
        yield container
    finally:
        engine.remove(container)


def label_of(**changes: Any) -> str:
    return json.dumps(asdict(replace(this_process(), **changes)))


CASES = {
    "ours": (label_of(), True, False),
    "a dead process's": (label_of(pid=4_000_000), True, True),
    "a dead process's that never started": (label_of(pid=4_000_000), False, True),
    "another process's that has our number": (label_of(start="1"), True, True),
    "another name space's": (label_of(namespace="pid:[1]", pid=4_000_000), True, False),
    "an earlier boot's that ended": (label_of(boot="another"), False, True),
    "another machine's that runs": (label_of(boot="another"), True, False),
    "nobody's": ("", True, False),
    "garbage": ("{", True, False),
    "a list": ("[1, 2]", True, False),
    "one with other fields": ('{"pid": 1}', True, False),
    "one with more fields": (json.dumps({**json.loads(label_of(pid=4_000_000)), "more": 1}), True, False),
}


@pytest.mark.parametrize("name", CASES)
def test_only_orphans_are_reaped(name: str, engine: Engine, alone: str) -> None:
    label, running, reaped = CASES[name]

    with labelled(engine, alone, label, running=running) as container:
        assert engine.remove_orphans() == reaped

        assert exists(engine, container) is not reaped


def test_killed_evaluator_that_nobody_waited_for_is_dead(engine: Engine, alone: str) -> None:
    child = subprocess.Popen(["sleep", "600"])
    start = (Path(f"/proc/{child.pid}/stat").read_text()).rpartition(")")[2].split()[19]
    owner = ProcessOwner(**{**asdict(this_process()), "pid": child.pid, "start": start})
    with labelled(engine, alone, json.dumps(asdict(owner)), running=True) as container:
        engine.remove_orphans()
        assert exists(engine, container)

        child.kill()
        until = time.monotonic() + 60
        while " Z " not in Path(f"/proc/{child.pid}/stat").read_text() and time.monotonic() < until:
            time.sleep(0.02)
        engine.remove_orphans()

        assert not exists(engine, container)
    child.wait()
