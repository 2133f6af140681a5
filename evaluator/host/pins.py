"""One arithmetic on every machine: dispatch of numpy, glibc and BLAS is pinned, and threads are one.

An environment's floats depend on which CPU features a library picks at start. All three read environment variables
before main, so the process that steps environments is started anew with them set.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping

from numpy._core import _multiarray_umath as numpy_features  # type: ignore[attr-defined]

# glibc reads names it does not know without a word; the *_Usable ones are those before 2.33.
_GLIBC = "AVX,AVX2,AVX512F,AVX512VL,FMA,FMA4,AVX2_Usable,AVX512F_Usable,FMA_Usable,FMA4_Usable"
_MARK = "PULLRANK_PINNED"
# How numpy begins its warning that a feature cannot be disabled.
_COMPLAINT = "During parsing environment variable"


def pinned_environment() -> dict[str, str]:
    """The variables that pin arithmetic, for the trusted and for the untrusted side."""
    return {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": " ".join(numpy_features.__cpu_dispatch__),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in _GLIBC.split(",")),
        "PYTHONHASHSEED": "0",
        # torch, and MKL and oneDNN inside it, choose kernels by the processor, too.
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
    }


def pins_digest() -> str:
    """SHA-256 over the variables, for the record."""
    return hashlib.sha256(json.dumps(pinned_environment(), sort_keys=True).encode()).hexdigest()


def run_pinned(environment: Mapping[str, str], arguments: list[str]) -> None:
    """Start this process anew with pinned arithmetic, unless it already is.

    Raises:
        RuntimeError: numpy kept a feature that was to be off, so replays would not be comparable.
    """
    wanted = pinned_environment()
    if environment.get(_MARK) == "1" and all(environment.get(name) == value for name, value in wanted.items()):
        check_pinned()
        return
    sys.stdout.flush()
    strict = ["-W", f"error:{_COMPLAINT}"]
    os.execve(sys.executable, [sys.executable, *strict, *arguments], {**environment, **wanted, _MARK: "1"})


def check_pinned() -> None:
    """Make sure that numpy took the pins.

    Raises:
        RuntimeError: it did not.
    """
    kept = [name for name in numpy_features.__cpu_dispatch__ if numpy_features.__cpu_features__.get(name)]
    if kept:
        raise RuntimeError(f"numpy still dispatches to {', '.join(kept)}; replays would differ between machines")
