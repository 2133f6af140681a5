"""Each limit of the sandbox, twice: in the engine's own settings, and where it bites."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.deterministic import pinned_variables
from evaluator.host.docker import evaluator_image
from evaluator.host.docker.container_options import UIDS, ContainerOptions, untrusted_host_config
from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.docker.hidden_files import hidden_paths, replacement_files
from evaluator.host.docker.seccomp import seccomp_profile
from evaluator.host.loading.submission_folder import read_folder, stage
from evaluator.host.probe.run_probe import NOT_PROMISED, escape_checks, probe
from evaluator.host.sandboxes.docker_sandbox import DockerConfig, DockerSandbox
from evaluator.host.sandboxes.sandbox import SandboxSpec
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox, select_sandbox
from evaluator.host.solo.evaluate_agent import Evaluation
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.records.stored_record import SandboxKind
from evaluator.model.records.verdict import Verdict
from tests.hostile.arena import base, order_of, our_containers, over_standard_streams, play, write_agent

pytestmark = pytest.mark.docker
LIMITS = Limits(memory_mib=100, cpus=0.5, pids=20, tmpfs_mib=8, cpu_seconds=20, start_seconds=30)
REPORT = """
{head}
print({expression}, flush=True)


class Agent:
    def act(self, observation):
        return 0
"""


REPORT_ACTING = """
class Agent:
    is_asked = False

    def act(self, observation):
        if not Agent.is_asked:
            Agent.is_asked = True
            exec({source!r}, {{}})
        return 0
"""


@pytest.fixture
def jail(engine: Engine, tmp_path: Path) -> Iterator[DockerSandbox]:
    """A started container with an agent that waits."""
    folder = read_folder(write_agent(tmp_path / "agent", "import time\ntime.sleep(1000)\n"), SubmissionLimits())
    room = tmp_path / "room"
    room.mkdir()
    stage(folder, room)
    walls = DockerConfig(
        engine=engine,
        image=evaluator_image.ensure_evaluator_image(engine, base(), lambda line: None),
        kind=SandboxKind.DOCKER,
        over_socket=True,
    )
    made = DockerSandbox(walls, SandboxSpec(folder=room, entry="agent.py", limits=LIMITS, environment=pinned_variables()))
    yield made
    made.close()


@pytest.fixture
def settings(jail: DockerSandbox, engine: Engine) -> dict[str, Any]:
    """What the engine says of it."""
    container: dict[str, Any] = engine._api.inspect_container(jail._id)
    return container


def test_engine_has_every_limit_on_record(settings: dict[str, Any]) -> None:
    host = settings["HostConfig"]

    assert host["Memory"] == host["MemorySwap"] == 100 << 20
    assert (host["CpuQuota"], host["CpuPeriod"]) == (100_000, 100_000)  # until the first observation
    assert host["PidsLimit"] == 20
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert host["Privileged"] is False
    assert host["SecurityOpt"] == ["no-new-privileges", f"seccomp={seccomp_profile(loopback=False)}"]
    assert host["NetworkMode"] == "none"
    assert host["IpcMode"] == "none"
    assert host["PidMode"] == host["UTSMode"] == ""
    assert host["LogConfig"]["Type"] == "none"
    assert host["Tmpfs"] == {"/tmp": "rw,noexec,nosuid,nodev,size=8m,mode=1777"}
    assert host["Init"] is True
    assert host["RestartPolicy"]["Name"] in ("", "no")
    assert not host["Devices"]
    assert not host["PortBindings"]
    assert not host["VolumesFrom"]
    assert host["CgroupnsMode"] == "private"
    assert host["MaskedPaths"] == hidden_paths()
    limits = {limit["Name"]: limit["Hard"] for limit in host["Ulimits"]}
    assert limits == {"nofile": 1024, "core": 1, "msgqueue": 0, "sigpending": 128}


def test_share_is_a_core_only_until_the_first_observation(jail: DockerSandbox, engine: Engine) -> None:
    jail.limit_share()

    host = engine._api.inspect_container(jail._id)["HostConfig"]
    assert (host["CpuQuota"], host["CpuPeriod"]) == (50_000, 100_000)


def test_an_agent_that_is_gone_has_no_share_to_set(jail: DockerSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(engine: Engine, container: str, cpus: float) -> None:
        raise EngineError("could not set the share")

    monkeypatch.setattr(Engine, "limit_share", fail)
    jail._engine.kill(str(jail._id))
    jail.limit_share()


def test_nothing_is_shown_to_an_agent_whose_share_cannot_be_set(
    jail: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(engine: Engine, container: str, cpus: float) -> None:
        raise EngineError("could not set the share")

    monkeypatch.setattr(Engine, "limit_share", fail)
    with pytest.raises(EngineError, match="could not set"):
        jail.limit_share()


def test_agent_acts_with_its_share(docker: SelectedSandbox, tmp_path: Path) -> None:
    head = (
        "from pathlib import Path\nplaces = [Path('/sys/fs/cgroup', name) for name in ('cpu.max', 'cpu/cpu.cfs_quota_us')]\n"
        "share = next(place for place in places if place.exists()).read_text().split()[0]\n"
    )

    assert reported("share", docker, tmp_path / "a", head, cpus=0.25) == "100000"
    assert reported("share", docker, tmp_path / "b", head, acting=True, cpus=0.25) == "25000"


def test_engine_mounts_two_folders_and_replacement_files_read_only_and_nothing_else(settings: dict[str, Any]) -> None:
    mounts = {mount["Destination"]: mount for mount in settings["Mounts"]}

    assert set(mounts) == {"/submission", "/channel", *replacement_files(LIMITS)}
    assert not any(mount["RW"] for mount in mounts.values())
    assert not any("docker" in mount["Source"] for mount in mounts.values())


def test_container_is_given_the_pins_and_no_variable_of_the_host(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = dict(item.split("=", 1) for item in settings["Config"]["Env"])

    assert environment.pop("PATH") == "/opt/venv/bin:/usr/bin:/bin"
    assert environment.pop("HOME") == "/tmp"
    assert environment.pop("PYTHONDONTWRITEBYTECODE") == "1"
    assert environment == pinned_variables()


def test_container_runs_unprivileged_and_is_labelled(settings: dict[str, Any]) -> None:
    uid, gid = settings["Config"]["User"].split(":")
    assert uid == gid
    assert int(uid) in UIDS
    assert settings["Config"]["NetworkDisabled"] is True
    assert set(json.loads(settings["Config"]["Labels"]["org.pullrank.owner"])) == {"pid", "start", "boot", "namespace"}


def test_gvisor_gets_room_for_its_own_threads_only() -> None:
    plain, under = (untrusted_host_config(LIMITS, ContainerOptions(runtime=runtime)) for runtime in (None, "runsc"))

    assert under["pids_limit"] > plain["pids_limit"]
    differs = ("pids_limit", "log_config", "security_opt", "cpu_quota", "runtime")
    assert {k: v for k, v in plain.items() if k not in differs} == {k: v for k, v in under.items() if k not in differs}
    ours, theirs = (json.loads(options["security_opt"][1].removeprefix("seccomp=")) for options in (plain, under))
    rules = [{json.dumps(rule) for rule in profile["syscalls"]} for profile in (ours, theirs)]
    differing = {name for rule in rules[0] ^ rules[1] for name in json.loads(rule)["names"]}
    assert differing == {"clone3", "futex", "prlimit64", "setrlimit"}


def reported(
    expression: str, chosen: SelectedSandbox, folder: Path, head: str = "", *, acting: bool = False, **limits: Any
) -> str:
    """What an agent prints of itself when it is imported, or `acting`, at its first observation."""
    source = REPORT.format(head=head, expression=expression)
    write_agent(folder, REPORT_ACTING.format(source=source) if acting else source)
    result = play(order_of(folder, episodes=1, limits=limits), chosen).result
    assert (result.verdict, result.message) == (Verdict.OK, "")
    return result.log_tail.strip()


def test_seccomp_and_no_new_privileges_are_in_force(docker: SelectedSandbox, tmp_path: Path) -> None:
    head = "status = dict(line.split(':', 1) for line in open('/proc/self/status'))"

    output = reported("[status[n].strip() for n in ('Seccomp', 'NoNewPrivs', 'CapEff')]", docker, tmp_path / "a", head)

    assert output == str(["2", "1", "0" * 16])


def test_every_container_has_a_user_of_its_own(docker: SelectedSandbox, tmp_path: Path) -> None:
    expression = "*os.getresuid(), *os.getresgid(), *os.getgroups()"

    users = [
        {int(part) for part in reported(expression, docker, tmp_path / name, "import os").split()} for name in ("a", "b")
    ]

    assert [len(user) for user in users] == [1, 1]
    assert users[0] != users[1]
    assert all(uid in UIDS for user in users for uid in user)


def test_processor_share_is_in_force(docker: SelectedSandbox, tmp_path: Path) -> None:
    head = "import time\nwall, used = time.monotonic(), time.process_time()\nwhile time.monotonic() < wall + 2:\n    pass\n"

    share = float(
        reported(
            "(time.process_time() - used) / (time.monotonic() - wall)",
            docker,
            tmp_path / "a",
            head,
            acting=True,
            cpus=0.4,
            answer_seconds=60,
        )
    )

    assert 0 < share < 0.48


def test_processor_share_holds_for_all_processes_together(docker: SelectedSandbox, tmp_path: Path) -> None:
    head = (
        "import os, resource, time\nfor _ in range(4):\n    if os.fork() == 0:\n        until = time.monotonic() + 2\n"
        "        while time.monotonic() < until:\n            pass\n        os._exit(0)\n"
        "for _ in range(4):\n    os.wait()\n"
    )

    used = float(
        reported(
            "resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime",
            docker,
            tmp_path / "a",
            head,
            acting=True,
            cpus=0.4,
            answer_seconds=60,
        )
    )

    assert used < 1.6


def test_tmpfs_holds_just_its_size(docker: SelectedSandbox, tmp_path: Path) -> None:
    head = (
        "import os\nwritten = 0\ntry:\n    with open('/tmp/x', 'wb', buffering=0) as f:\n        while True:\n"
        "            written += f.write(bytes(1 << 16))\nexcept OSError as error:\n    reason = error.errno\n"
        "os.remove('/tmp/x')"
    )

    assert reported("[written >> 20, reason]", docker, tmp_path / "a", head, tmpfs_mib=8) == "[8, 28]"


def test_memory_just_below_the_limit_is_granted(docker: SelectedSandbox, tmp_path: Path) -> None:
    assert reported("len(b'x' * (80 << 20)) >> 20", docker, tmp_path / "a", memory_mib=128) == "80"


def test_swap_is_no_way_out(docker: SelectedSandbox, tmp_path: Path) -> None:
    folder = write_agent(tmp_path / "a", "hoard = b'x' * (200 << 20)\n")

    result = play(order_of(folder, limits={"memory_mib": 128}), docker).result

    assert (result.verdict, result.message) == (Verdict.OUT_OF_MEMORY, "the agent used more than 128 MiB of memory")


def test_usage_is_plausible(docker: SelectedSandbox, tmp_path: Path) -> None:
    source = """
import time
hoard = b"x" * (60 << 20)


class Agent:
    def __init__(self):
        until = time.process_time() + 1
        while time.process_time() < until:
            pass

    def act(self, observation):
        return 0
"""
    order = order_of(write_agent(tmp_path / "a", source), episodes=1, limits={"cpu_seconds": 30, "answer_seconds": 30})

    cost = play(order, docker).result.cost

    assert cost.cpu_seconds is not None
    assert cost.peak_memory_bytes is not None
    assert 1.0 < cost.cpu_seconds < 10
    assert 60 << 20 < cost.peak_memory_bytes < 128 << 20
    assert cost.wall_seconds > 2
    assert cost.steps >= 1


@pytest.mark.parametrize("task", ["CartPole-v1", "Pendulum-v1"])
def test_every_transport_and_sandbox_measures_the_same(
    task: str, docker: SelectedSandbox, gvisor: SelectedSandbox, engine: Engine, tmp_path: Path
) -> None:
    source = """
import random


class Agent:
    def __init__(self, action_space, seed):
        action_space.seed(seed)
        self.space = action_space

    def act(self, observation):
        return self.space.sample()
"""
    order = order_of(write_agent(tmp_path / "a", source), task, episodes=6, limits={"memory_mib": 256})

    outcomes = [play(order, chosen) for chosen in (docker, over_standard_streams(engine), gvisor)]

    assert [outcome.result.verdict for outcome in outcomes] == [Verdict.OK] * 3
    assert len({measured(outcome) for outcome in outcomes}) == 1


def measured(outcome: Evaluation) -> tuple[Any, ...]:
    return outcome.result.returns, outcome.result.lengths, outcome.result.key, outcome.trace


def test_probe_holds_in_a_container(docker: SelectedSandbox, engine: Engine) -> None:
    begun = time.monotonic()
    checks = probe(docker, Limits())

    assert [(check.name, check.detail) for check in checks if check.failed] == []
    assert sum(check.promised for check in checks) >= 20
    assert time.monotonic() - begun < 450
    assert our_containers(engine) == []


def test_escapes_fail_in_gvisor(gvisor: SelectedSandbox, engine: Engine) -> None:
    checks = list(escape_checks(gvisor, Limits()))

    assert [(check.name, check.detail) for check in checks if check.failed] == []
    assert sum(not check.promised for check in checks) == len(NOT_PROMISED[SandboxKind.GVISOR])
    assert our_containers(engine) == []


def test_probe_says_what_the_process_sandbox_does_not_hold() -> None:
    checks = {check.name: check.held for check in probe(select_sandbox("process", "", lambda line: None), Limits())}

    assert checks["no file of this machine can be read"] is False
    assert checks["no program can be run from memory"] is False
    assert checks["nothing in /proc or /sys describes this machine"] is False
    assert checks["nothing in its temporary directory can be run"] is False
    assert checks["an honest agent can answer"] is True
    assert checks["more processor time than the limit ends it"] is True
    assert checks["more output than the limit ends it"] is True
