"""Runs the cells, each as a program of its own, so that memory and start are its own, and never two at once."""

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import gymnasium

from bench.worlds.cells import BARE, BY_NAME, CALLS, SANDBOXES, SB3, Cell, cells

ROOT = Path(__file__).resolve().parents[2]
RIVALS = ROOT / "build" / "rivals"
"""The folder of an environment with the packages that only other systems need."""
WANTED = ("torch", "stable-baselines3", "grpcio==1.76.0")
EPISODES = 64
LEAST_STEPS = 10
PROBE_STEPS = 10
# A cell may take this much longer than its bare loop; the slowest call for each move takes some hundred times as long.
MOST_SECONDS = 900
REASON_CHARACTERS = 160
NOT_MEASURED = "not measured: "


@dataclass(frozen=True, kw_only=True)
class Row:
    """A cell as measured, or why it was not."""

    world: str
    policy: str
    way: str
    steps: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Of all processes that took part, from the first observation to the last action."""
    mib: float = 0.0
    """The peaks of all processes that took part, added up."""
    start: float = 0.0
    """Seconds from the program's start to the first observation."""
    bare_speed: float = 0.0
    """Steps a second of the bare loop that was timed just before."""
    bare_cpu: float = 0.0
    """Processor seconds a step of that loop."""
    load: float = 0.0
    reason: str = ""
    """Why it was not measured."""

    @property
    def speed(self) -> float:
        """Steps a second."""
        return self.steps / self.seconds

    @property
    def ratio(self) -> float:
        """Its speed, the bare loop's being 1."""
        return self.speed / self.bare_speed

    @property
    def cpu_ratio(self) -> float:
        """Steps in a processor second, the bare loop's being 1; other work on the machine changes it least."""
        return self.bare_cpu * self.steps / self.cpu_seconds

    @property
    def minutes(self) -> float:
        """What a million steps cost on a machine like this one, its start included, in minutes."""
        return (self.start + 1e6 / self.speed) / 60

    @property
    def line(self) -> str:
        """For the terminal, as it comes."""
        what = f"{self.world}, {self.policy}, {self.way}: "
        return what + (self.reason or f"{self.speed:,.0f} steps/s, {self.ratio:.2f} × bare")


def measure(worlds: Sequence[str], ways: Sequence[str], seconds: float) -> Iterator[Row]:
    """Every cell; the bare loop of a row plays for some `seconds`, and the others as many episodes."""
    rivals = _with_rivals() if any(way in SB3 or CALLS.get(way) for way in ways) else ""
    for world, policy, chosen in cells(worlds, ways):
        if lack := BY_NAME[world].lack():
            yield Row(world=world, policy=policy, way=BARE, reason=f"{NOT_MEASURED}{lack} is not installed")
            continue
        steps = int(seconds * _bare_speed(world, policy))
        cap = max(LEAST_STEPS, min(steps // EPISODES, _time_limit(world)))
        episodes = max(EPISODES, min(1000, steps // cap))
        bare: Row | None = None
        for way in chosen:
            row = _row(Cell(world=world, policy=policy, way=way, episodes=episodes, cap=cap), bare, rivals)
            bare = row if way == BARE else bare
            yield row


def _time_limit(world: str) -> int:
    module, colon, name = BY_NAME[world].env_id.rpartition(":")
    if colon:
        importlib.import_module(module)  # where the environment is registered
    return gymnasium.spec(name).max_episode_steps or 1000


def _bare_speed(world: str, policy: str) -> float:
    """Steps a second of a short bare loop."""
    probe = Cell(world=world, policy=policy, way=BARE, episodes=EPISODES, cap=PROBE_STEPS)
    result = _run(probe, "")
    return result["steps"] / result["seconds"]


def _row(cell: Cell, bare: Row | None, rivals: str) -> Row:
    name = {"world": cell.world, "policy": cell.policy, "way": cell.way}
    try:
        result = _run(cell, rivals if cell.way in SB3 or CALLS.get(cell.way) else "")
    except (subprocess.SubprocessError, OSError) as error:
        return Row(**name, reason=NOT_MEASURED + _reason(error))
    row = Row(**name, **{**result, "steps": int(result["steps"])}, load=os.getloadavg()[0])
    reference = bare or row
    fields = {**vars(row), "bare_speed": reference.speed, "bare_cpu": reference.cpu_seconds / reference.steps}
    return Row(**fields)


def _run(cell: Cell, more: str) -> dict[str, float]:
    module = "contained" if cell.way.startswith(SANDBOXES) else "loops"
    command = [sys.executable, "-m", f"bench.worlds.{module}", cell.to_json()]
    environment = {**os.environ, "BENCH_BEGUN": str(time.time())} | ({"PYTHONPATH": more} if more else {})
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=MOST_SECONDS, env=environment, cwd=ROOT
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _reason(error: Exception) -> str:
    """The last line of what a program printed that names an error."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"it takes more than {MOST_SECONDS} s"
    lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
    return next((line for line in reversed(lines) if "Error" in line), lines[-1])[:REASON_CHARACTERS]


def _with_rivals() -> str:
    """The folder of the other systems' packages, made now if it is not there; what cannot be had is not in it."""
    python, done = RIVALS / "bin" / "python", RIVALS / "done"
    if not done.exists():
        print(f"Making {RIVALS} with {', '.join(WANTED)} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", RIVALS], check=True, capture_output=True)
        for package in WANTED:
            install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
            subprocess.run(install, check=False, capture_output=True, timeout=1800)
        done.touch()
    [folder] = RIVALS.absolute().glob("lib/python3*/site-packages")
    # First ours: both have Gymnasium and numpy, and all ways are to have the same.
    ours = str(Path(gymnasium.__file__).parents[1])
    return os.pathsep.join((ours, str(folder)))
