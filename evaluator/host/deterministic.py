"""The same arithmetic on every machine: pins the CPU dispatch of numpy, glibc and BLAS, and uses one thread.

An environment's floats depend on the CPU features that a library chooses at its start, from environment variables. So the
process that steps environments is restarted with these variables set.
"""

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# glibc ignores unknown names; the *_Usable ones are those before version 2.33.
_GLIBC = "AVX,AVX2,AVX512F,AVX512VL,FMA,FMA4,AVX2_Usable,AVX512F_Usable,FMA_Usable,FMA4_Usable"
_PINNED_VARIABLE = "PULLRANK_PINNED"
# The beginning of numpy's warning that a feature cannot be disabled.
_NUMPY_WARNING = "During parsing environment variable"
# The dispatch features of the locked numpy, so that a process that will only restart itself need not import numpy, which
# takes a tenth of a second. The restarted process asks numpy itself.
_LOCKED_NUMPY = "2.4.6"
_LOCKED_DISPATCH = {"x86_64": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"}


def pinned_variables() -> dict[str, str]:
    """The variables that pin arithmetic, for the host and the sandbox."""
    return _variables_for(" ".join(_numpy().__cpu_dispatch__))


def _numpy() -> Any:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    return _multiarray_umath


def _expected_pins() -> dict[str, str]:
    """The same without importing numpy, if its installed version is the locked one."""
    numpy, dispatch = importlib.util.find_spec("numpy"), _LOCKED_DISPATCH.get(os.uname().machine)
    if numpy is None or numpy.origin is None or dispatch is None:
        return pinned_variables()
    packages = Path(numpy.origin).parents[1]
    return _variables_for(dispatch) if (packages / f"numpy-{_LOCKED_NUMPY}.dist-info").is_dir() else pinned_variables()


def _variables_for(dispatch: str) -> dict[str, str]:
    return {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": dispatch,
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in _GLIBC.split(",")),
        "PYTHONHASHSEED": "0",
        # torch, and MKL and oneDNN inside it, choose kernels by the processor too.
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
    }


def pins_digest() -> str:
    """SHA-256 over the variables, for results."""
    # imported late, as a process that will only restart itself does not need them
    import hashlib
    import json

    return hashlib.sha256(json.dumps(pinned_variables(), sort_keys=True).encode()).hexdigest()


def run_pinned(environment: Mapping[str, str], arguments: list[str]) -> None:
    """Restart this process with pinned arithmetic, unless it already is pinned.

    Raises:
        RuntimeError: numpy did not disable a feature, so replays would not be comparable.
    """
    is_marked = environment.get(_PINNED_VARIABLE) == "1"
    wanted = pinned_variables() if is_marked else _expected_pins()
    if is_marked and all(environment.get(name) == value for name, value in wanted.items()):
        check_pinned()
        return
    sys.stdout.flush()
    options = ["-W", f"error:{_NUMPY_WARNING}"]
    # In an agent's folder, Python would import its modules in place of ours: the folder it is started in is only searched
    # where our own code lies there.
    if Path.cwd() != Path(__file__).parents[2]:
        options.append("-P")
    os.execve(sys.executable, [sys.executable, *options, *arguments], {**environment, **wanted, _PINNED_VARIABLE: "1"})


def check_pinned() -> None:
    """Raise RuntimeError unless numpy applied the pins."""
    numpy = _numpy()
    enabled = [name for name in numpy.__cpu_dispatch__ if numpy.__cpu_features__.get(name)]
    if enabled:
        raise RuntimeError(f"numpy still dispatches to {', '.join(enabled)}; replays would differ between machines")
