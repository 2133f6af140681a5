"""The games that the site can draw, and the moves of a recorded duel."""

import re
from collections.abc import Sequence

from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from leaderboard.games.classic_games import CONNECT_FOUR, TICTACTOE, rounds_kind
from leaderboard.games.match_svg import GameDrawing
from leaderboard.games.quarto_board import QUARTO

GAME_VERSION = re.compile(r"_v[0-9]+$")
_DRAWINGS = {
    "pettingzoo.classic.tictactoe": TICTACTOE,
    "pettingzoo.classic.connect_four": CONNECT_FOUR,
    "evaluator.environments.quarto": QUARTO,
}
_ROUNDS = "pettingzoo.classic.rps"
_DEFAULT_ROUNDS, _MOST_ROUNDS = 15, 200


def drawing_of(task: Task) -> GameDrawing | None:
    """How a game is drawn; None for a game that only its environment can render."""
    module = GAME_VERSION.sub("", (task.game or "").partition(":")[0])
    if module == _ROUNDS and task.kwargs.get("num_actions", 3) == 3:
        rounds = task.kwargs.get("max_cycles", _DEFAULT_ROUNDS)
        return rounds_kind(rounds) if isinstance(rounds, int) and 0 < rounds <= _MOST_ROUNDS else None
    return _DRAWINGS.get(module)


def action_word(task: Task, action: int) -> str:
    """An action in words, such as `drops into column 1`."""
    kind = drawing_of(task)
    return kind.words[action] if kind and 0 <= action < len(kind.words) else f"plays {action}"


def position_text(task: Task, moves: Sequence[int]) -> str | None:
    """The position after these moves as text; None for a game that only its environment can render."""
    kind = drawing_of(task)
    return kind.text(moves) if kind else None


def moves_of(duel: Duel) -> list[list[int]]:
    """The moves of each match; no moves if the record is damaged, so that its page is still built."""
    try:
        return [[int(move) for move in moves] for moves in duel.match_moves()]
    except ValueError:
        return [[] for _ in duel.matches]


def milliseconds_of(duel: Duel) -> list[list[int]]:
    """The time of each move in milliseconds; empty lists if the record is damaged."""
    try:
        return [[int(time) for time in times] for times in duel.match_milliseconds()]
    except ValueError:
        return [[] for _ in duel.matches]
