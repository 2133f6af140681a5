"""One arithmetic on every machine: dispatch of numpy, glibc and BLAS is pinned, and threads are one.

An environment's floats depend on which CPU features a library picks at start. All three read environment variables
before main, so the process that steps environments is started anew with them set.
"""

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# glibc reads names it does not know without a word; the *_Usable ones are those before 2.33.
_GLIBC = "AVX,AVX2,AVX512F,AVX512VL,FMA,FMA4,AVX2_Usable,AVX512F_Usable,FMA_Usable,FMA4_Usable"
_MARK = "PULLRANK_PINNED"
# How numpy begins its warning that a feature cannot be disabled.
_COMPLAINT = "During parsing environment variable"
# What the numpy of the lock dispatches on, so that a process which is only to be started anew need not import numpy,
# which takes a tenth of a second. The process that follows asks numpy itself.
_LOCKED_NUMPY = "2.4.6"
_DISPATCH = {"x86_64": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"}


def pinned_environment() -> dict[str, str]:
    """The variables that pin arithmetic, for the trusted and for the untrusted side."""
    return _pins(" ".join(_numpy().__cpu_dispatch__))


def _numpy() -> Any:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    return _multiarray_umath


def _expected_pins() -> dict[str, str]:
    """The same without importing numpy, where the installed one is that of the lock."""
    numpy, dispatch = importlib.util.find_spec("numpy"), _DISPATCH.get(os.uname().machine)
    if numpy is None or numpy.origin is None or dispatch is None:
        return pinned_environment()
    packages = Path(numpy.origin).parents[1]
    return _pins(dispatch) if (packages / f"numpy-{_LOCKED_NUMPY}.dist-info").is_dir() else pinned_environment()


def _pins(dispatch: str) -> dict[str, str]:
    return {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": dispatch,
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in _GLIBC.split(",")),
        "PYTHONHASHSEED": "0",
        # torch, and MKL and oneDNN inside it, choose kernels by the processor, too.
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
    }


def pins_digest() -> str:
    """SHA-256 over the variables, for the record."""
    # Not in the process that is only to be started anew.
    import hashlib
    import json

    return hashlib.sha256(json.dumps(pinned_environment(), sort_keys=True).encode()).hexdigest()


def run_pinned(environment: Mapping[str, str], arguments: list[str]) -> None:
    """Start this process anew with pinned arithmetic, unless it already is.

    Raises:
        RuntimeError: numpy kept a feature that was to be off, so replays would not be comparable.
    """
    is_marked = environment.get(_MARK) == "1"
    wanted = pinned_environment() if is_marked else _expected_pins()
    if is_marked and all(environment.get(name) == value for name, value in wanted.items()):
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
    numpy = _numpy()
    kept = [name for name in numpy.__cpu_dispatch__ if numpy.__cpu_features__.get(name)]
    if kept:
        raise RuntimeError(f"numpy still dispatches to {', '.join(kept)}; replays would differ between machines")
