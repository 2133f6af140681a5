"""A board in a folder of its own, and the command run in it as people and machines run it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.forked_command import run_forked

ROOT = Path(__file__).parents[2]
GAMES = """\
title: Test games
season: test
limits: {start_seconds: 30}
tasks:
  - id: CartPole-v1
    episodes: 2
    random: {score: 22, source: test}
    reference: {score: 475, source: test}
    few_episodes: true
  - id: tictactoe
    game: pettingzoo.classic.tictactoe_v3
    opening: 0
    matches: 4
  - id: five
    game: pettingzoo.classic.rps_v2
    kwargs: {num_actions: 5, max_cycles: 3}
    opening: 0
    matches: 2
"""
LEGAL = """\
class Agent:
    memoryless = True
    def act(self, observation):
        if not isinstance(observation, dict):
            return 0
        return int(observation["action_mask"].argmax())
"""
LAST_LEGAL = LEGAL.replace('int(observation["action_mask"].argmax())', 'int(observation["action_mask"].nonzero()[0][-1])')
ILLEGAL = "class Agent:\n    def act(self, observation):\n        return 4\n"
CRASHING = "class Agent:\n    def act(self, observation):\n        print('hello')\n        return 1 / 0\n"


def game_board(root: Path) -> Path:
    """A board of one task and two games whose baseline takes the first legal move; everything it writes is its own."""
    (root / "challenge.yml").write_text(GAMES)
    shutil.copytree(ROOT / "site", root / "site")
    shutil.copy(ROOT / "mkdocs.yml", root / "mkdocs.yml")
    put(root / "example_agents" / "random", LEGAL, "all")
    return root


def put(folder: Path, source: str, tasks: str = "[tictactoe]") -> Path:
    """An agent's folder."""
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(source)
    (folder / "submission.yml").write_text(f"name: {folder.name.capitalize()}\nalgorithm: none\ntasks: {tasks}\n")
    return folder


def submit(root: Path, agent: str, source: str, tasks: str = "[tictactoe]", login: str = "alice") -> str:
    """Somebody's agent; returns its folder as one names it."""
    put(root / "submissions" / login / agent, source, tasks)
    return f"submissions/{login}/{agent}"


def start(board: Path, *words: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """The command, started."""
    return subprocess.Popen(
        [sys.executable, "-m", "scripts.cli", *words], cwd=board, env=_environment(),
        stdout=subprocess.PIPE, stderr=stderr, text=True,
    )  # fmt: skip


def started(board: Path, *words: str) -> tuple[int, str, str]:
    """The command, started and run to its end: its exit code, what a machine reads and what people read."""
    process = start(board, *words)
    out, err = process.communicate(timeout=600)
    assert "Traceback" not in out + err
    return process.returncode, out, err


def run(board: Path, *words: str) -> tuple[int, str, str]:
    """The same in a process that has imported everything; commands/test_started.py runs every command from its start."""
    code, out, err = run_forked(board, words, _environment(), timeout=600)
    assert "Traceback" not in out + err
    return code, out, err


def _environment() -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PULLRANK_PINNED")}
    return {**own, "PYTHONPATH": str(ROOT)}


def records(board: Path) -> dict[str, bytes]:
    """Every file in the store."""
    return {str(p.relative_to(board)): p.read_bytes() for p in sorted((board / "results").rglob("*.json"))}


def duels(board: Path) -> dict[str, bytes]:
    """Every finished duel's file, by the names of its sides."""
    return {path.parent.name: path.read_bytes() for path in (board / "results").glob("*/*/[!.]*.json")}
