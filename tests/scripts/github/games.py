"""A board with a game in tests: examples that are baselines, players that keep the rules and one that does not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluator.model.records.duel_record import Duel
from leaderboard.core.store import RECORD_ENDING
from tests.scripts.github.remotes import MANIFEST, Clone, agent_files, make_board

CHALLENGE = b"""title: Test
season: "1"
baselines: [first, last]
tasks:
  - {id: tictactoe, title: Tic-tac-toe, game: pettingzoo.classic.tictactoe_v3, matches: 4}
"""
_PLAYER = "class Agent:\n    memoryless = True\n\n    def act(self, observation):\n        {}\n"
FIRST = _PLAYER.format("return int(observation['action_mask'].argmax())").encode()
LAST = _PLAYER.format("return int(observation['action_mask'].nonzero()[0][-1])").encode()
MIDDLE = _PLAYER.format("legal = observation['action_mask'].nonzero()[0]; return int(legal[len(legal) // 2])").encode()
CHEATS = _PLAYER.format("print('::error::SECRET ##[error]SECRET'); return int(observation['action_mask'].argmin())").encode()
TIC = "tictactoe"

Change = Callable[[dict[str, Any]], dict[str, Any]]


def example(name: str, source: bytes) -> dict[str, bytes | None]:
    """An example's folder."""
    return {f"example_agents/{name}/agent.py": source, f"example_agents/{name}/submission.yml": MANIFEST}


def game_board(place: Path, files: dict[str, bytes | None] | None = None) -> Clone:
    """A board whose only task is a game, with three examples of which two are baselines."""
    examples = {**example("first", FIRST), **example("last", LAST), **example("other", MIDDLE)}
    return make_board(place, {"challenge.yml": CHALLENGE, **examples, **(files or {})})


def entered(login: str, source: bytes, agent: str = "a") -> dict[str, bytes | None]:
    """A player's folder."""
    return agent_files(login, agent, source)


def forge_duel(folder: Path, names: str, change: Change) -> Path:
    """Change a handed-in duel and seal it anew, as whoever escaped into a shard could."""
    path = next((folder / "results" / TIC).glob(f"{names}/*{RECORD_ENDING}"))
    path.write_bytes(Duel.with_self_hash(change(json.loads(path.read_bytes()))).serialised())
    return path
