"""AGENTS.md: the tables of what an agent sees and answers are those of challenge.yml's tasks and games."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.envs.pettingzoo_game import open_game
from evaluator.host.loading.yaml_loader import parse_challenge
from evaluator.model.config.task import Task
from leaderboard.text import format

ROOT = Path(__file__).parents[2]
CHALLENGE = parse_challenge((ROOT / "challenge.yml").read_bytes())
ROWS = dict(re.findall(r"^\| `([^`]+)` \| (.*) \|$", (ROOT / "AGENTS.md").read_text(), re.MULTILINE))
POLICY_TASKS = [task for task in CHALLENGE.solo_tasks if task.script is None]
GAMES = [task for task in CHALLENGE.tasks if task.game is not None]


def in_words(space: Any, *, bounded: bool) -> str:
    if isinstance(space, Discrete):
        return f"{space.start}–{space.start + space.n - 1}"
    assert isinstance(space, Box)
    bounds = f", {format.plain(space.low.min())}…{format.plain(space.high.max())}" if bounded else ""
    return f"{space.dtype}, shape {space.shape}{bounds}"


def test_every_task_and_game_has_a_row() -> None:
    assert set(ROWS) == {task.id for task in (*POLICY_TASKS, *GAMES)}


@pytest.mark.parametrize("task", POLICY_TASKS, ids=lambda task: task.id)
def test_a_task_has_these_spaces(task: Task) -> None:
    opened = load_gym_task(task)

    words = in_words(opened.observation_space, bounded=False), in_words(opened.action_space, bounded=True)
    assert ROWS[task.id] == " | ".join(words)


@pytest.mark.parametrize("task", GAMES, ids=lambda task: task.id)
def test_a_game_has_these_spaces(task: Task) -> None:
    game = open_game(task)
    sees, acts = ROWS[task.id].split(" | ")

    assert acts.startswith(in_words(game.action_space, bounded=False) + ":")
    assert ("no mask" in sees) != game.masked
    if isinstance(game.observation_space, Dict):
        assert sees.startswith(in_words(game.observation_space["observation"], bounded=False))


@pytest.mark.parametrize(("name", "move", "cell"), [("tictactoe", 5, (1, 2)), ("connect_four", 4, (5, 4))])
def test_stones_and_masks_lie_where_the_table_says(name: str, move: int, cell: tuple[int, int]) -> None:
    position = open_game(next(task for task in GAMES if task.id == name)).start("00" * 16)
    assert position.observe()["action_mask"].dtype == np.int8

    position.play(move)
    board = position.observe()["observation"]
    assert (board[(*cell, 1)], board.sum()) == (1, 1), "for the player who moves now, the stone is the opponent's"
