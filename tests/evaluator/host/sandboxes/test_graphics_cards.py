"""Graphics cards for agents, as far as a machine without one can show it: what is asked for, and what is said without."""

from pathlib import Path
from typing import Any

import pytest

from evaluator.host import machine
from evaluator.host.docker import engine as engine_module
from evaluator.host.docker.container_options import ContainerOptions, gpu_requests
from evaluator.host.docker.engine import Engine
from evaluator.host.docker.gvisor_runtime import RUNTIME_ARGUMENTS, gpus_fault
from evaluator.host.machine import gpu_models, graphics_cards, machine_digest
from evaluator.host.sandboxes.sandbox import own_processors
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox, _handed_gpus, process_sandbox, select_sandbox
from evaluator.model.config.challenge import Challenge, Runners
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import Task
from evaluator.model.records.stored_record import Devices, SandboxKind
from scripts.console import CommandError
from scripts.repository.checkout import Checkout
from scripts.runs import local_evaluator
from scripts.runs.local_evaluator import Evaluator
from tests.evaluations import ANGLE_RULE, evaluated, folder, order

DRIVER = """#!/bin/sh
echo "NVIDIA A100-SXM4-80GB, 550.54.15, GPU-1f"
echo "NVIDIA A100-SXM4-80GB, 550.54.15, GPU-2e"
"""
A100 = "NVIDIA A100-SXM4-80GB, 550.54.15"
CARTPOLE = Task.model_validate({"id": "CartPole-v1", "episodes": 2, "few_episodes": True})


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that answers as NVIDIA's does on a machine with two cards."""
    program = tmp_path / "nvidia-smi"
    program.write_text(DRIVER)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    graphics_cards.cache_clear()
    yield program  # type: ignore[misc]
    graphics_cards.cache_clear()


def test_the_drivers_program_names_the_cards(driver: Path) -> None:
    assert graphics_cards() == (f"{A100}, GPU-1f", f"{A100}, GPU-2e")
    assert gpu_models(graphics_cards()) == (A100, A100)


@pytest.mark.parametrize("script", ["#!/bin/sh\nexit 9\n", "#!/bin/sh\nprintf ''\n", "no program"])
def test_a_driver_that_does_not_answer_shows_no_cards(driver: Path, script: str) -> None:
    driver.write_text(script)

    assert graphics_cards() == ()


def test_the_machines_name_changes_with_its_cards(driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = machine_digest()
    assert before == machine_digest()

    monkeypatch.setattr(machine, "graphics_cards", lambda: ())

    assert machine_digest() != before


def test_the_engine_is_asked_for_cards_to_compute_with() -> None:
    assert gpu_requests(0) is None
    (request,) = gpu_requests(2) or []
    assert (request["Count"], request["Capabilities"]) == (2, [["gpu", "compute", "utility"]])


@pytest.mark.parametrize(
    ("arguments", "hands_on"),
    [(RUNTIME_ARGUMENTS, False), ((*RUNTIME_ARGUMENTS, "--nvproxy"), True), (("--nvproxy=true",), True), ((), False)],
)
def test_gvisor_hands_cards_on_by_nvproxy_alone(arguments: tuple[str, ...], hands_on: bool) -> None:
    fault = gpus_fault({"runsc": {"path": "/usr/bin/runsc", "runtimeArgs": list(arguments)}})

    assert (fault is None) == hands_on
    assert hands_on or "--nvproxy" in str(fault)


class EngineWithCards:
    """Stands for an engine that starts containers with cards, or says why it does not."""

    def __init__(self, fault: str | None) -> None:
        self.fault = fault

    def gpus_fault(self, image: str, gpus: int, runtime: str | None) -> str | None:
        return self.fault


def handed(fault: str | None, gpus: int) -> dict[str, Any]:
    return _handed_gpus(EngineWithCards(fault), "image", SandboxKind.DOCKER, gpus)  # type: ignore[arg-type]


def test_results_name_what_was_handed_out(driver: Path) -> None:
    assert handed(None, 0) == {}
    assert handed(None, 1) == {"gpus": Devices(wanted=1, cards=(A100,))}
    assert handed(None, 3) == {"gpus": Devices(wanted=3), "gpus_fault": "nvidia-smi shows 2 here"}
    assert handed("no driver", 1) == {"gpus": Devices(wanted=1), "gpus_fault": "no driver"}


@pytest.mark.docker
def test_an_engine_without_cards_says_so(engine: Engine) -> None:
    if graphics_cards():
        pytest.skip("this machine has graphics cards")
    from tests.hostile.arena import base

    chosen = select_sandbox("docker", base(), lambda line: None, gpus=1)

    assert chosen.gpus == Devices(wanted=1)
    assert chosen.gpus_fault is not None
    assert "start the sandbox" in chosen.gpus_fault
    assert "device driver" in chosen.gpus_fault


def test_a_result_says_that_its_agent_had_no_card() -> None:
    task = CARTPOLE
    result = evaluated(ANGLE_RULE, task, gpus=Devices(wanted=1)).result

    assert result.document()["gpus"] == {"wanted": 1, "cards": []}
    assert result.gpus_fault(1) == "it was played on 0 graphics cards, and challenge.yml says 1"
    assert result.gpus_fault(0) is None
    assert "gpus" not in evaluated(ANGLE_RULE, task).result.document()


def test_an_agent_is_handed_all_cards_or_none() -> None:
    with pytest.raises(ValueError, match="all the cards that are wanted, or none"):
        Devices(wanted=2, cards=(A100,))


def test_the_sandbox_is_asked_for_the_cards_of_the_request() -> None:
    specs = []
    box = process_sandbox()

    def note(spec: Any) -> Any:
        specs.append(spec.gpus)
        return box.opener(spec)

    chosen = SelectedSandbox(kind=box.kind, opener=note, base="process", notice=None)
    evaluated(ANGLE_RULE, CARTPOLE, chosen, gpus=Devices(wanted=2, cards=(A100, A100)))
    evaluated(ANGLE_RULE, CARTPOLE, chosen, gpus=Devices(wanted=2))

    assert specs == [2, 0]


def test_a_container_is_created_with_the_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    class Api:
        def create_host_config(self, **settings: Any) -> dict[str, Any]:
            asked.update(settings)
            return {}

        def create_container(self, *arguments: Any, **settings: Any) -> dict[str, str]:
            return {"Id": "1"}

        def info(self) -> dict[str, Any]:
            return {}

    engine = Engine.__new__(Engine)
    monkeypatch.setattr(engine_module.Engine, "_api", Api())

    engine.create("image", ["true"], Limits(), ContainerOptions(runtime=None, gpus=1))
    assert asked["device_requests"] == gpu_requests(1)
    engine.create("image", ["true"], Limits(), ContainerOptions(runtime=None))
    assert asked["device_requests"] is None


def board(tmp_path: Path) -> Checkout:
    (tmp_path / "challenge.yml").write_text("title: T\nseason: '1'\nrunners: {gpus: 1}\ntasks: [{id: CartPole-v1}]\n")
    return Checkout(tmp_path)


def test_an_official_run_without_cards_stops(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as caught:
        local_evaluator.open_evaluator(board(tmp_path), "process", official=True)

    assert "challenge.yml gives each agent 1 graphics card, and this machine cannot" in str(caught.value)


def test_elsewhere_it_is_said_that_agents_play_without(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluator = local_evaluator.open_evaluator(board(tmp_path), "process")

    assert evaluator.sandbox.gpus == Devices(wanted=1)
    said = " ".join(capsys.readouterr().err.split())
    assert "agents play without graphics cards, and may reach other scores than with them" in said


def test_two_agents_never_share_a_card(tmp_path: Path) -> None:
    evaluator = Evaluator(checkout=board(tmp_path), sandbox=process_sandbox(), runtime_digest="ab" * 32)
    wanted = order(folder(ANGLE_RULE), CARTPOLE, limits=Limits(cpus=0.1))

    assert evaluator.job(wanted).processors == 1
    with_cards = order(folder(ANGLE_RULE), CARTPOLE, limits=Limits(cpus=0.1), gpus=Devices(wanted=1, cards=(A100,)))
    assert evaluator.job(with_cards).processors == len(own_processors())


def test_limits_for_hours_leave_older_records_as_they_are() -> None:
    assert "task_seconds" not in Limits().model_dump()
    assert Limits(cpu_seconds=100).wall_seconds == 1000
    assert Limits(cpu_seconds=100, task_seconds=18000).wall_seconds == 18000
    assert Limits(task_seconds=5).model_dump()["task_seconds"] == 5
    assert "task_seconds" not in Challenge.model_validate(
        {"title": "T", "season": "1", "tasks": [{"id": "CartPole-v1"}]}
    ).model_dump_json()  # fmt: skip
    assert Runners().gpus == 0
