"""From the command's start to the result file, against a bare loop that writes the same returns."""

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


def run(count: int = 5) -> dict[str, dict[str, float]]:
    """Wall seconds that `pullrank evaluate` on one task takes beyond the bare program."""
    beyond = []
    agent = str(Path("example_agents/cartpole-angle-rule"))
    for _ in range(count):
        with tempfile.TemporaryDirectory() as name:
            bare = _seconds([sys.executable, "-c", _BARE, f"{name}/returns.json"])
            command = [sys.executable, "-m", "scripts.cli", "evaluate", agent, "--task", "CartPole-v1", "--again"]
            beyond.append(_seconds([*command, "--out", f"{name}/results"]) - bare)
    figure = {"median": statistics.median(beyond), "min": min(beyond), "max": max(beyond)}
    return {"cold start beyond bare, seconds": figure}
