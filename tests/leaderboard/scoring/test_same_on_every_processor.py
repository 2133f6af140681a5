"""Scores, intervals and comparisons are the same on every processor, without anything pinned."""

import os
import subprocess
import sys
from pathlib import Path

from evaluator.host.deterministic import pinned_variables

ROOT = Path(__file__).parents[3]
PROFILES = {
    "all that is pinned for environments": pinned_variables(),
    "another BLAS kernel, and two threads": {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "2"},
    "a BLAS kernel of old": {"OPENBLAS_CORETYPE": "Prescott"},
    "numpy without its fast loops": {"NPY_DISABLE_CPU_FEATURES": pinned_variables()["NPY_DISABLE_CPU_FEATURES"]},
    "a C library without AVX2 and FMA": {"GLIBC_TUNABLES": pinned_variables()["GLIBC_TUNABLES"]},
}
# All numbers of boards of a few sizes, to the last bit.
MEASURE = """
import hashlib
import numpy as np
from leaderboard.scoring.intervals import critical_value, estimates
from leaderboard.scoring.significance import compare_all
from leaderboard.scoring.overall_iqm import Stratum, stratified_iqm
from tests.leaderboard import make

random, checksum = np.random.default_rng(1), hashlib.sha256()
for size in (1, 2, 37, 100, 1000):
    for score in ("mean", "iqm"):
        for bounds in (None, (-400, 400)):
            returns = random.normal(scale=50, size=(70, size)).tolist()
            measured = estimates(returns, make.task(score=score, bounds=bounds))
            for one in (*measured, *compare_all(measured), critical_value(measured.size, measured.tries)):
                checksum.update(np.asarray(one).tobytes())
for size in (10, 100):
    runs = random.normal(scale=50, size=(20, 8, size)).tolist()
    entries = [[Stratum(f"task-{i}", task) for i, task in enumerate(tasks)] for tasks in runs]
    for one in stratified_iqm(entries):
        checksum.update(one.tobytes())
print(checksum.hexdigest())
"""


def measured(profile: dict[str, str]) -> str:
    own = {name: value for name, value in os.environ.items() if name not in pinned_variables()}
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], cwd=ROOT, env={**own, **profile}, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_numbers_are_the_same_under_every_profile() -> None:
    expected = measured({})

    assert len(expected) == 65
    for name, profile in PROFILES.items():
        assert measured(profile) == expected, name
