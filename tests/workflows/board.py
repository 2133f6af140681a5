"""The board that the story is played on: this repository as it stands, with two short tasks, and agents for it."""

import shutil
import subprocess
from pathlib import Path

from tests.workflows.files import ROOT

CHALLENGE = """\
title: Story
season: "2026"
baselines: []
repository: https://github.com/host/board
tasks:
  - id: CartPole-v1
    title: CartPole
    episodes: 12
    bounds: [1, 500]
    random: {score: 22, source: measured}
    reference: {score: 475, source: measured}
  - id: MountainCar-v0
    title: Mountain Car
    episodes: 3
    bounds: [-200, -1]
    random: {score: -200, source: measured}
    reference: {score: -110, source: measured}
"""
# It plays this story by other means, with the real actions, which it takes from their own repositories.
ELSEWHERE = ".github/workflows/act.yml"
GAMES = """\
title: Games
season: "2026"
repository: https://github.com/host/board
baselines: [random]
tasks:
  - {id: tictactoe, title: Tictactoe, game: pettingzoo.classic.tictactoe_v3, matches: 8}
"""
MANIFEST = """\
name: {name}
algorithm: rule
kind: policy
entry: agent.py
tasks: [CartPole-v1]
"""
LEANS = "int(observation[2] > 0)"
BALANCES = "int(observation[2] + 0.2 * observation[3] > 0)"
CRASHES = "1 // 0"


def lay_out(place: Path, challenge: str = CHALLENGE) -> Path:
    """A copy of every file that is or would be committed, with another challenge."""
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("submissions/", "tests/", ELSEWHERE)):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    (place / "challenge.yml").write_text(challenge)
    return place


def agent(login: str, name: str, act: str) -> dict[str, str | None]:
    """The files of an agent that acts by one expression."""
    source = f"class Agent:\n    memoryless = True\n\n    def act(self, observation):\n        return {act}\n"
    folder = f"submissions/{login}/{name}"
    return {f"{folder}/submission.yml": MANIFEST.format(name=name), f"{folder}/agent.py": source}


def player(login: str, name: str, act: str) -> dict[str, str | None]:
    """The files of a player that moves by one expression over the moves that are legal."""
    source = "class Agent:\n    memoryless = True\n\n    def act(self, observation):\n"
    source += f"        legal = observation['action_mask'].nonzero()[0]\n        return {act}\n"
    folder = f"submissions/{login}/{name}"
    manifest = MANIFEST.format(name=name).replace("CartPole-v1", "tictactoe")
    return {f"{folder}/submission.yml": manifest, f"{folder}/agent.py": source}


def gone(login: str, name: str) -> dict[str, str | None]:
    """The removal of an agent."""
    return dict.fromkeys(agent(login, name, LEANS))
