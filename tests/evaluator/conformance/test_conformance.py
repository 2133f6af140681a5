"""A measurement changes only where the measurement version is raised: every case in every sandbox, against its recording."""

import copy
import json
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.envs import spaces
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.solo import evaluate_agent
from tests.evaluations import process
from tests.evaluator.conformance import record
from tests.evaluator.conformance.cases import CASES, measured
from tests.evaluator.conformance.play import MODULE, STREAMS

ROOT = Path(__file__).parents[3]
RECORDED: dict[str, Any] = json.loads(record.FILE.read_text())
Played = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def played() -> Played:
    """What comes of all cases in a sandbox: measured once, in a process with pinned arithmetic."""
    known: dict[str, dict[str, Any]] = {}

    def measure(sandbox: str) -> dict[str, Any]:
        if sandbox not in known:
            done = subprocess.run(
                [sys.executable, "-m", MODULE, sandbox], cwd=ROOT, capture_output=True, text=True, check=False, timeout=900
            )
            assert done.returncode == 0, done.stderr[-2000:]
            known[sandbox] = json.loads(done.stdout)
        return known[sandbox]

    return measure


def judge(measurements: dict[str, Any], titles: list[str]) -> None:
    """Fail with what is to be done about each case that is not as it was recorded."""
    if platform.machine() != RECORDED["machine"]:
        pytest.skip(f"recorded on {RECORDED['machine']}; replay is promised on one architecture")
    faults = [record.fault(RECORDED, record.head(), title, measurements.get(title)) for title in titles]
    assert not any(faults), "\n".join(filter(None, faults))


@pytest.mark.parametrize("title", CASES)
def test_the_process_sandbox_measures_as_recorded(played: Played, title: str) -> None:
    judge(played("process"), [title])


@pytest.mark.docker
def test_docker_measures_as_recorded(docker: SelectedSandbox, played: Played) -> None:
    judge(played("docker"), list(CASES))


@pytest.mark.docker
def test_docker_over_standard_streams_measures_as_recorded(docker: SelectedSandbox, played: Played) -> None:
    titles = [title for title, case in CASES.items() if case.over_streams]

    assert (
        {"script" in CASES[title].task for title in titles}
        == {"game" in CASES[title].task for title in titles}
        == {False, True}
    )
    judge(played(STREAMS), titles)


@pytest.mark.docker
def test_gvisor_measures_as_recorded(gvisor: SelectedSandbox, played: Played) -> None:
    judge(played("gvisor"), list(CASES))


def test_every_case_is_recorded_and_every_honest_one_was_verified_by_replay() -> None:
    failures = {"an agent that crashes": "crashed", "an action outside the space": "protocol_error"}

    assert set(RECORDED["cases"]) == set(CASES)
    for title, case in RECORDED["cases"].items():
        assert case["verdict"] == failures.get(title, "ok"), title
        assert case.get("replay") == (None if title in failures else "verified"), title
    own = [case["met"] for case in RECORDED["cases"].values() if "met" in case]
    assert len(set(own)) == len(own), "each case meets something else"


TAXI = "taxi, one environment for all episodes"


def faults_of(title: str) -> str:
    return record.fault(RECORDED, {**record.head(), "machine": "any"}, title, measured(CASES[title], process())) or ""


def test_a_referee_that_pays_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from gymnasium.envs.toy_text.taxi import TaxiEnv

    assert faults_of(TAXI) == ""
    step = TaxiEnv.step

    def generous(self: Any, action: Any) -> Any:
        observation, reward, *rest = step(self, action)
        return observation, reward + 0.5, *rest

    monkeypatch.setattr(TaxiEnv, "step", generous)
    fault = faults_of(TAXI)

    assert fault.startswith(f"'{TAXI}' is measured differently (met, returns): undo that, or raise MEASUREMENT_VERSION in ")
    assert fault.endswith("run python -m tests.evaluator.conformance.record")


def test_other_seeds_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = evaluate_agent.episode_seeds
    monkeypatch.setattr(evaluate_agent, "episode_seeds", lambda *fields: seeds("another", *fields[1:]))

    assert "(actions, met, " in faults_of(TAXI)


def test_another_look_of_observations_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    title = "every kind of space"
    encode = spaces.ObservationEncoder.encode

    def backwards(self: Any, observations: Any) -> Any:
        return [bytes(raw)[::-1] for raw in encode(self, observations)]

    monkeypatch.setattr(spaces.ObservationEncoder, "encode", backwards)

    assert "(actions, met" in faults_of(title)


def test_the_recording_says_what_to_do() -> None:
    now = {name: RECORDED[name] for name in ("protocol", "machine", "packages")}
    case = RECORDED["cases"][TAXI]
    newer = {**now, "protocol": now["protocol"] + 1}
    bumped = {**now, "packages": {"requirements/runtime.txt": ["numpy==99"]}}

    assert record.fault(RECORDED, now, TAXI, case) is None
    assert "run python -m tests.evaluator.conformance.record" in str(record.fault(RECORDED, newer, TAXI, case))
    assert "packages that measure have changed" in str(record.fault(RECORDED, bumped, TAXI, case))
    assert "is not recorded" in str(record.fault(RECORDED, now, "a new one", case))
    assert "raise MEASUREMENT_VERSION" in str(record.fault(RECORDED, now, TAXI, None))
    assert "raise MEASUREMENT_VERSION" in str(record.refusal(RECORDED, now))
    assert "never lower it" in str(record.refusal({**RECORDED, "protocol": now["protocol"] + 1}, now))
    assert record.refusal(RECORDED, newer) is None
    assert record.refusal(RECORDED, bumped) is None


def test_a_recording_of_the_same_measurement_version_is_not_written_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "recorded.json"
    document = {**copy.deepcopy(RECORDED), **record.head(), "cases": {}}
    target.write_text(record.written(document))
    monkeypatch.setattr(record, "FILE", target)
    monkeypatch.setattr(record, "CASES", {TAXI: CASES[TAXI]})
    before = target.read_bytes()

    assert record.main([]) == 1
    assert target.read_bytes() == before
    assert "Nothing is recorded: there is a recording of measurement version" in capsys.readouterr().err
    assert record.main(["--force"]) == 0
    assert json.loads(target.read_bytes())["cases"] == {TAXI: RECORDED["cases"][TAXI]}
