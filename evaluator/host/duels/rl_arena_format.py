"""Duels in the format of rl-arena: its fields, its words, and its encodings of states for its games.

They differ in Quarto: the arena begins with piece 15 in hand, and one action places a piece and gives the next; here the
first player gives a piece first. So the states of Quarto are those between two turns, after the empty board.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from evaluator.host.envs.pettingzoo_game import GamePosition, PettingZooGame
from evaluator.model.records.duel_record import Duel, MatchRecord, Side, first_side
from evaluator.model.records.verdict import Verdict

# Games whose cells the arena writes as 1 for the player who began and -1 for the other, in PettingZoo's order.
_GAMES_OF_MARKS = ("pettingzoo.classic.tictactoe_v3", "pettingzoo.classic.connect_four_v3")
_QUARTO_GAME = "evaluator.environments.quarto"

_BOTH_FAILED = "both players failed"
_BOTH_FAILED_SOMEWHERE = "Both players failed in at least one of the matches"


def rl_arena_document(duel: Duel, game: PettingZooGame, first: Side = 0) -> dict[str, Any]:
    """The arena's document of a duel; side `first` becomes its player 1. Raises as `rl_arena_states` does."""
    matches = []
    for index, (match, moves) in enumerate(zip(duel.matches, duel.match_moves(), strict=True)):
        states = rl_arena_states(game, duel.seeds[index // 2], moves)
        matches.append(_match(match, first_side(index) == first, first, states))
    results = [match["result"] for match in matches]
    counted = {
        "num_matches": len(matches),
        "player_1_errors": results.count("PLAYER_1_ERROR"),
        "player_2_errors": results.count("PLAYER_2_ERROR"),
        "other_errors": results.count("OTHER_ERROR"),
        "player_1_wins": results.count("PLAYER_1_WIN"),
        "player_2_wins": results.count("PLAYER_2_WIN"),
        "draws": results.count("DRAW"),
        "player_1_score": math.fsum(match["player_1_score"] for match in matches),
        "player_2_score": math.fsum(match["player_2_score"] for match in matches),
    }
    result, message = _outcome(duel, counted)
    return {"result": result, "error_msg": message, **counted, "matches": matches}


def _outcome(duel: Duel, counted: dict[str, Any]) -> tuple[str, str]:
    """The result of the duel and its error message: by points, an error being the other's win; then by score."""
    if duel.verdict is not Verdict.OK:
        return "ERROR", duel.message
    if counted["other_errors"]:
        return "ERROR", _BOTH_FAILED_SOMEWHERE
    one = 2 * (counted["player_1_wins"] + counted["player_2_errors"]), counted["player_1_score"]
    two = 2 * (counted["player_2_wins"] + counted["player_1_errors"]), counted["player_2_score"]
    return _winner(None if one == two else one > two), ""


def _winner(is_one: bool | None) -> str:
    return "DRAW" if is_one is None else "PLAYER_1_WIN" if is_one else "PLAYER_2_WIN"


def _match(match: MatchRecord, one_begins: bool, first: Side, states: list[Any]) -> dict[str, Any]:
    return {
        "result": _result(match, first),
        "error_msg": _error(match),
        "player_1_score": match.scores[first],
        "player_2_score": match.scores[1 - first],
        "first_player": "PLAYER_1" if one_begins else "PLAYER_2",
        "states": states,
    }


def _result(match: MatchRecord, first: Side) -> str:
    if not match.offenders:
        return _winner(None if match.winner is None else match.winner == first)
    if len(match.offenders) > 1:
        return "OTHER_ERROR"
    return "PLAYER_1_ERROR" if match.offenders[0] == first else "PLAYER_2_ERROR"


def _error(match: MatchRecord) -> str:
    if len(match.offenders) > 1:
        return f"{_BOTH_FAILED}: {match.message or match.end}"
    return match.message or str(match.end) if match.offenders else ""


def rl_arena_states(game: PettingZooGame, seed: str, moves: Sequence[int]) -> list[Any]:
    """The states of a match, from the first to the last.

    Tic-tac-toe, Connect Four and Quarto have the arena's own encodings, other games the mover's observations.

    Raises:
        ValueError: a move is not legal.
    """
    name = (game.task.game or "").partition(":")[0]
    positions = _positions(game, seed, moves)
    if name in _GAMES_OF_MARKS:
        return _marks_and_turn(positions)
    if name == _QUARTO_GAME:
        return [_cells_and_hand(position) for position, turn_over in positions if turn_over]
    return [_nested(_shown(game, position)) for position, _ in positions]


def _positions(game: PettingZooGame, seed: str, moves: Sequence[int]) -> Iterator[tuple[GamePosition, bool]]:
    """The position before the first move and after each, and whether a turn ended there."""
    position = game.start(seed)
    try:
        yield position, True
        for ply, move in enumerate(moves):
            if position.over or move not in game.legal(position.observe()):
                raise ValueError(f"the move {move} at ply {ply} is not legal")
            mover = position.mover
            position.play(move)
            yield position, position.over or position.mover != mover
    finally:
        position.close()


def _marks_and_turn(positions: Iterator[tuple[GamePosition, bool]]) -> list[Any]:
    """The cells, then whose turn it is; as in the arena, the turn does not pass when the game is over."""
    states = []
    for position, _ in positions:
        seen = position.observe_as(0)["observation"].astype(float)
        states.append([*(seen[..., 0] - seen[..., 1]).ravel().tolist(), -1.0 if position.mover else 1.0])
    return states


def _cells_and_hand(position: GamePosition) -> list[int]:
    cells: list[int] = position.observe_as(0)["observation"].tolist()
    return cells


def _shown(game: PettingZooGame, position: GamePosition) -> Any:
    seen = position.observe_as(position.mover)
    return seen["observation"] if game.masked else seen


def _nested(value: Any) -> Any:
    """A value of any space as JSON."""
    if isinstance(value, dict):
        return {str(key): _nested(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_nested(inner) for inner in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _nested(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
