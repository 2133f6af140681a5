"""How long `requirements/runtime.txt` takes to install: pip against uv in turn, `python -m bench.install_bench [ROUNDS]`.

Cold: nothing kept, as on a machine that was just started. Warm: the packages kept from the time before. It needs the
package index.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LOCK = ["--require-hashes", "-r", str(Path("requirements", "runtime.txt").resolve())]
UV_LOCK = ["--require-hashes", "-r", str(Path("requirements", "uv.txt").resolve())]


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
    return time.perf_counter() - begun


def rounds(count: int, place: Path) -> dict[str, list[float]]:
    """Seconds of each way, once a round; every installation goes into an environment of its own."""
    taken: dict[str, list[float]] = {}
    for number in range(count):
        kept = {"PIP_CACHE_DIR": str(place / f"pip-{number}"), "UV_CACHE_DIR": str(place / f"uv-{number}")}
        tool = place / f"tool-{number}"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        taken.setdefault("uv itself, by pip", []).append(_seconds([*pip, "--target", str(tool), *UV_LOCK], kept))
        uv = [str(tool / "bin" / "uv"), "pip", "install", "--quiet"]
        for name, words in (
            ("pip cold", None), ("uv cold", []), ("pip warm", None), ("uv warm", []),
            ("uv warm, bytecode compiled", ["--compile-bytecode"]),
        ):  # fmt: skip
            fresh = place / "environment"
            subprocess.run([sys.executable, "-m", "venv", fresh], check=True)
            python = str(fresh / "bin" / "python")
            way = [python, *pip[1:], *LOCK] if words is None else [*uv, *words, "--python", python, *LOCK]
            taken.setdefault(name, []).append(_seconds(way, kept))
            shutil.rmtree(fresh)
    return taken


def main() -> None:
    """Print the medians and the ratios of the same rounds."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as place:
        taken = rounds(count, Path(place))
    for name, seconds in taken.items():
        print(f"{name:28} {statistics.median(seconds):6.1f} s  ({min(seconds):.1f} to {max(seconds):.1f})")
    for state in ("cold", "warm"):
        ratios = [pip / uv for pip, uv in zip(taken[f"pip {state}"], taken[f"uv {state}"], strict=True)]
        print(f"pip / uv, {state}: {statistics.median(ratios):.1f}")


if __name__ == "__main__":
    main()
