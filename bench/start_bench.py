"""How long the command takes to start: against a bare interpreter, and until a result is written against a bare loop."""

import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_BARE = """
import json, sys
import gymnasium
environment = gymnasium.make("CartPole-v1")
returns = []
for seed in range(100):
    observation, _ = environment.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = environment.step(int(observation[2] + observation[3] > 0))
        total, over = total + reward, terminated or truncated
    returns.append(total)
json.dump(returns, open(sys.argv[1], "w"))
"""


def _seconds(command: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - begun


_BARE_STARTS = {"python": "pass", "imports": "import pydantic.main, typer.main"}
_COMMANDS = {
    "--help": ["--help"],
    "--version": ["--version"],
    "check": ["check", "example_agents/cartpole-angle-rule"],
    "rank": ["rank", "--json"],
    "plan": ["plan", "--json", "--sandbox", "process"],
}


def _processor_seconds(command: list[str], folder: str) -> float:
    """User and system seconds of a process and its children; the wall says more of what else the machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def starts(count: int = 5) -> dict[str, dict[str, float]]:
    """Processor time of commands on the board here, as ratios to that of bare programs of the same round."""
    ratios: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as empty:
        for _ in range(count):
            bare = {name: _processor_seconds([sys.executable, "-c", code], empty) for name, code in _BARE_STARTS.items()}
            rounds = _COMMANDS | {"new": ["new", f"{empty}/agent"]}
            for command, words in rounds.items():
                seconds = _processor_seconds([sys.executable, "-m", "scripts.cli", *words], ".")
                for name, least in bare.items():
                    ratios.setdefault(f"start of {command} / bare {name}", []).append(seconds / least)
            shutil.rmtree(f"{empty}/agent")
    return {name: {"median": statistics.median(each), "min": min(each), "max": max(each)} for name, each in ratios.items()}


def run(count: int = 5) -> dict[str, dict[str, float]]:
    """Wall seconds that `pullrank evaluate` on one task takes beyond the bare program; then what `starts` gives."""
    beyond = []
    agent = str(Path("example_agents/cartpole-angle-rule"))
    for _ in range(count):
        with tempfile.TemporaryDirectory() as name:
            bare = _seconds([sys.executable, "-c", _BARE, f"{name}/returns.json"])
            command = [sys.executable, "-m", "scripts.cli", "evaluate", agent, "--task", "CartPole-v1", "--again"]
            beyond.append(_seconds([*command, "--out", f"{name}/results"]) - bare)
    figure = {"median": statistics.median(beyond), "min": min(beyond), "max": max(beyond)}
    return {"cold start beyond bare, seconds": figure} | starts(count)


if __name__ == "__main__":
    for name, figures in starts().items():
        print(f"{name}: {figures['median']:.1f} ({figures['min']:.1f} to {figures['max']:.1f})")
