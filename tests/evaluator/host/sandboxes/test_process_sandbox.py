"""The process sandbox and its control group: limits where they are granted, and nothing left behind."""

import os
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import pytest

from evaluator.host.errors import SandboxError
from evaluator.host.process_owner import scratch_prefix
from evaluator.host.sandboxes.process_sandbox import ControlGroup, ProcessSandbox
from evaluator.host.sandboxes.sandbox import SandboxSpec
from evaluator.host.sandboxes.select_sandbox import select_sandbox
from evaluator.host.usage import CONTROL_GROUPS, Usage
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import Task
from evaluator.model.records.verdict import Verdict
from tests.evaluations import ANGLE_RULE, evaluated

TASK = Task(id="CartPole-v1", episodes=3)
HEAD = "class Agent:\n    memoryless = True\n    def act(self, observation):\n"


def test_where_no_engine_answers_the_note_offers_nothing_that_is_done_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")

    with pytest.raises(SandboxError, match=r"; start Docker or use --sandbox process$"):
        select_sandbox("docker", "python:3.11", print)
    fallback = select_sandbox("auto", "python:3.11", print)

    assert fallback.is_fallback
    assert fallback.notice is not None
    assert "; start Docker. The process sandbox limits time" in fallback.notice


def tree(root: Path, *, unified: bool) -> Path:
    if unified:
        (root / "cgroup.controllers").write_text("cpu memory pids")
    else:
        for controller in ("memory", "pids", "cpu", "cpuacct"):
            (root / controller).mkdir()
    return root


@pytest.mark.parametrize(
    ("unified", "expected"),
    [
        (
            True,
            {"box/memory.max": "536870912", "box/cpu.max": "50000 100000", "box/pids.max": "50", "box/memory.swap.max": "0"},
        ),
        (
            False,
            {
                "memory/box/memory.limit_in_bytes": "536870912",
                "memory/box/memory.memsw.limit_in_bytes": "536870912",
                "cpu/box/cpu.cfs_quota_us": "50000",
                "pids/box/pids.max": "50",
            },
        ),
    ],
)
def test_the_limits_are_written_for_both_versions(tmp_path: Path, unified: bool, expected: dict[str, str]) -> None:
    group = ControlGroup.create(Limits(), tree(tmp_path, unified=unified), "box")

    assert group is not None
    assert {name: (tmp_path / name).read_text() for name in expected} == expected


def test_usage_and_a_kill_by_memory_are_read_for_both_versions(tmp_path: Path) -> None:
    for unified in (True, False):
        root = tree(tmp_path / str(unified), unified=unified) if (tmp_path / str(unified)).mkdir() is None else tmp_path
        group = ControlGroup.create(Limits(), root, "box")
        assert group is not None
        assert group.usage() == Usage()
        files = (
            {"cpu.stat": "usage_usec 2500000\nuser_usec 1", "memory.peak": "1024\n", "memory.events": "oom 1\noom_kill 1\n"}
            if unified
            else {
                "cpuacct.usage": "2500000000\n",
                "memory.max_usage_in_bytes": "1024\n",
                "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
            }
        )
        for name, text in files.items():
            (
                group.folders["cpuacct" if name.startswith("cpuacct") else "memory" if "memory" in name else "cpu"] / name
            ).write_text(text)
        assert group.usage() == Usage(cpu_seconds=2.5, peak_memory_bytes=1024)
        assert group.killed_by_memory()


def test_a_group_is_removed_though_its_processes_need_time_to_end() -> None:
    """A killed process stays in its group until it has ended, and a group that holds one cannot be removed."""
    group = ControlGroup.create(Limits(), Path("/sys/fs/cgroup"), f"pullrank-test-{uuid.uuid4().hex}")
    if group is None:
        pytest.skip("the kernel grants this user no control groups")
    source = "import time; held = bytearray(200 << 20); print('ready', flush=True); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", source], preexec_fn=group.join, stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"

    group.remove()

    assert [place for place in group.folders.values() if place.exists()] == []
    assert process.wait() == -9


def test_where_the_kernel_grants_no_group_there_is_none(tmp_path: Path) -> None:
    assert ControlGroup.create(Limits(), tmp_path / "nowhere", "box") is None


@pytest.mark.parametrize(
    ("body", "verdict", "limits"),
    [
        ("        return 1 / 0\n", Verdict.CRASHED, {}),
        ("        import os; os._exit(0)\n", Verdict.CRASHED, {}),
        ("        while True: pass\n", Verdict.TIMEOUT, {"answer_seconds": 0.2}),
        ("        print('x' * 4096); return 0\n", Verdict.OUTPUT_LIMIT, {"log_kib": 16}),
        ("        self.x = bytearray(2 << 30); return 0\n", Verdict.OUT_OF_MEMORY, {}),
        ("        return None\n", Verdict.PROTOCOL_ERROR, {}),
    ],
)
def test_faults_of_the_agent_are_verdicts_here_too(body: str, verdict: Verdict, limits: dict[str, float]) -> None:
    outcome = evaluated(HEAD + body, TASK, limits=Limits.model_validate(limits))

    assert outcome.result.verdict is verdict
    assert outcome.result.message


def test_an_honest_agent_is_measured_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the groups made here are looked for: other tests and other processes make some of their own meanwhile."""
    created: list[ControlGroup] = []
    create = ControlGroup.create

    def remembered(limits: Limits, root: Path, name: str) -> ControlGroup | None:
        group = create(limits, root, name)
        if group is not None:
            created.append(group)
        return group

    monkeypatch.setattr(ControlGroup, "create", remembered)

    result = evaluated(ANGLE_RULE, TASK).result

    assert result.verdict is Verdict.OK
    assert result.cost.cpu_seconds is None or 0 < result.cost.cpu_seconds < 60
    assert result.cost.wall_seconds > 0
    assert len(created) == 1 or result.cost.cpu_seconds is None  # where the kernel grants none there is nothing to leave
    assert [place for group in created for place in group.folders.values() if place.exists()] == []


def test_a_deep_folder_and_a_process_named_in_bytes_are_no_fault_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = "import ctypes, os\nctypes.CDLL(None).prctl(15, b'\\xff)')\nos.chdir(os.environ['TMPDIR'])\n"
    deep += "for _ in range(3000):\n    os.mkdir('a')\n    os.chdir('a')\n"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(ControlGroup, "create", lambda *arguments: None)

    assert evaluated(deep + ANGLE_RULE, TASK).result.verdict is Verdict.OK
    assert list(tmp_path.glob("pullrank-sandbox-*")) == []


@pytest.mark.parametrize("place", ["ControlGroup.create", "listen"])
def test_an_interruption_while_it_is_made_leaves_nothing(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(f"evaluator.host.sandboxes.process_sandbox.{place}", interrupt)

    with pytest.raises(KeyboardInterrupt):
        ProcessSandbox(SandboxSpec(folder=tmp_path, entry="agent.py", limits=Limits()))

    assert list(tmp_path.iterdir()) == []
    assert list(CONTROL_GROUPS.glob(f"*/{scratch_prefix('sandbox')}*")) == []


def test_the_agents_environment_is_clean() -> None:
    os.environ["PULLRANK_TEST_SECRET"] = "seen"
    body = "        import os\n        assert 'PULLRANK_TEST_SECRET' not in os.environ\n        return 0\n"

    assert evaluated(HEAD + body, TASK).result.verdict is Verdict.OK


def test_it_says_that_it_is_no_boundary() -> None:
    chosen = select_sandbox("process", "", lambda line: None)

    assert chosen.notice is not None
    assert "no security boundary" in chosen.notice
    assert chosen.base == "process"
