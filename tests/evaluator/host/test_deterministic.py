"""Replays hold on another machine: dispatch is pinned, whatever the workflow ask for."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.host import deterministic as pins
from evaluator.host.deterministic import pinned_variables
from evaluator.host.loading.yaml_loader import read_challenge

ROOT = Path(__file__).parents[3]
PROFILES = {
    "a machine without AVX2 and FMA": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable"},
    "another BLAS kernel": {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "2"},
    "numpy without its fast loops": {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"},
}
# Steps every default environment with fixed actions and prints what the referee would record.
REPLAY = """
import json, sys
import numpy as np
from pathlib import Path
from evaluator.host.loading.yaml_loader import read_challenge
from evaluator.host.solo.verify_result import replay_episode
from evaluator.host.envs.gym_task import load_gym_task
found = {}
for task in read_challenge(Path("challenge.yml")).solo_tasks:
    world = load_gym_task(task)
    world.action_space.seed(7)
    actions = np.stack([np.asarray(world.action_space.sample()) for _ in range(300)])
    now = replay_episode(world, "00112233445566778899aabbccddeeff", [actions])
    found[task.id] = [now.total.hex(), now.checksum]
print(json.dumps(found))
"""


def replays(profile: dict[str, str]) -> dict[str, list[str]]:
    """What a process gives that was started under a profile and then pins itself, as every command does."""
    program = (
        "import os, sys\nfrom evaluator.host.deterministic import run_pinned\nrun_pinned(os.environ, ['-c', PROGRAM])\n"
    )
    pinned = "import os; from evaluator.host.deterministic import run_pinned; run_pinned(os.environ, [])"
    source = f"PROGRAM = {pinned + REPLAY!r}\n"
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", source + program],
        cwd=ROOT, env={**os.environ, **profile}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    checksums: dict[str, list[str]] = json.loads(done.stdout)
    return checksums


def test_replays_are_the_same_under_every_cpu_profile() -> None:
    expected = replays({})

    assert len(expected) == len(read_challenge(ROOT / "challenge.yml").solo_tasks)
    for name, profile in PROFILES.items():
        assert replays(profile) == expected, name


def test_the_pins_name_every_feature_that_numpy_dispatches_on() -> None:
    pins = pinned_variables()
    program = (
        "from numpy._core._multiarray_umath import __cpu_features__, __cpu_dispatch__\n"
        "print([name for name in __cpu_dispatch__ if __cpu_features__[name]])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, **pins},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"])
def test_arithmetic_has_one_thread(name: str) -> None:
    assert pinned_variables()[name] == "1"


def test_the_pins_expected_of_the_locked_numpy_are_those_that_it_asks_for() -> None:
    assert f"numpy=={pins._LOCKED_NUMPY}" in (ROOT / "requirements/runtime.txt").read_text(encoding="utf-8").split()
    assert pins._expected_pins() == pinned_variables()


def test_pins_that_were_expected_wrongly_are_set_right(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os\n"
        "from evaluator.host import deterministic as pins\n"
        "pins._LOCKED_DISPATCH = dict.fromkeys(pins._LOCKED_DISPATCH, 'X86_V4')\n"
        f"pins.run_pinned(os.environ, [{str(program)!r}])\n"
        "print(os.environ['NPY_DISABLE_CPU_FEATURES'])\n",
        encoding="utf-8",
    )
    workflow = {name: value for name, value in os.environ.items() if name != "PULLRANK_PINNED"}
    done = subprocess.run(
        [sys.executable, program], cwd=ROOT, env={**workflow, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip

    assert done.stdout.strip() == pinned_variables()["NPY_DISABLE_CPU_FEATURES"]
