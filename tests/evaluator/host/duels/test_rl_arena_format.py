"""The arena's document, field by field, and its encodings of states on positions worked out by hand."""

import json
import random
from typing import Any

import pytest
from pettingzoo.classic import tictactoe_v3

from evaluator.host.duels.rl_arena_format import rl_arena_document, rl_arena_states
from evaluator.host.envs.pettingzoo_game import PettingZooGame, open_game
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from tests.evaluations import FIRST_LEGAL, RANDOM_PLAYER, duelled

TICTACTOE = Task(id="tictactoe", game="pettingzoo.classic.tictactoe_v3", matches=6)
CONNECT_FOUR = Task(id="connect_four", game="pettingzoo.classic.connect_four_v3", matches=4)
QUARTO = Task(id="quarto", game="evaluator.environments.quarto", matches=4)
RPS = Task(id="rps", game="pettingzoo.classic.rps_v2", kwargs={"max_cycles": 2}, opening=0, matches=2)
SEED = "0123456789abcdef" * 2
DUEL_FIELDS = [
    "result", "error_msg", "num_matches", "player_1_errors", "player_2_errors", "other_errors", "player_1_wins",
    "player_2_wins", "draws", "player_1_score", "player_2_score", "matches",
]  # fmt: skip
MATCH_FIELDS = ["result", "error_msg", "player_1_score", "player_2_score", "first_player", "states"]


@pytest.fixture(scope="module")
def game() -> PettingZooGame:
    return open_game(TICTACTOE)


@pytest.fixture(scope="module")
def honest() -> Duel:
    return duelled(RANDOM_PLAYER, FIRST_LEGAL, TICTACTOE)


def changed(duel: Duel, rows: list[dict[str, Any]], **changes: Any) -> Duel:
    """A duel whose matches say something else: the document is about what is recorded."""
    matches = [{**match, **row} for match, row in zip(duel.document()["matches"], rows, strict=True)]
    return Duel.with_self_hash({**duel.document(), "matches": matches, **changes})


def test_the_fields_are_the_arenas(honest: Duel, game: PettingZooGame) -> None:
    document = rl_arena_document(honest, game)

    assert list(document) == DUEL_FIELDS
    assert [list(match) for match in document["matches"]] == [MATCH_FIELDS] * 6
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_the_numbers_are_the_duels(honest: Duel, game: PettingZooGame) -> None:
    document = rl_arena_document(honest, game)
    winners = [match.winner for match in honest.matches]

    assert (document["error_msg"], document["num_matches"]) == ("", 6)
    assert (document["player_1_wins"], document["player_2_wins"], document["draws"]) == (
        winners.count(0), winners.count(1), winners.count(None),
    )  # fmt: skip
    assert (document["player_1_errors"], document["player_2_errors"], document["other_errors"]) == (0, 0, 0)
    assert document["player_1_score"] == winners.count(0) - winners.count(1) == -document["player_2_score"]
    assert [match["first_player"] for match in document["matches"]] == ["PLAYER_1", "PLAYER_2"] * 3
    words = {0: "PLAYER_1_WIN", 1: "PLAYER_2_WIN", None: "DRAW"}
    assert [match["result"] for match in document["matches"]] == [words[winner] for winner in winners]
    assert [match["player_1_score"] for match in document["matches"]] == [match.scores[0] for match in honest.matches]
    assert [len(match["states"]) for match in document["matches"]] == [match.plies + 1 for match in honest.matches]


def test_player_1_is_who_is_named_first(honest: Duel, game: PettingZooGame) -> None:
    one, other = rl_arena_document(honest, game, 0), rl_arena_document(honest, game, 1)

    swap = {"1": "2", "2": "1"}
    for name, value in one.items():
        if name.startswith("player_"):
            assert other[f"player_{swap[name[7]]}{name[8:]}"] == value
    turn = str.maketrans(swap)
    for ours, theirs in zip(one["matches"], other["matches"], strict=True):
        assert theirs["result"] == ours["result"].translate(turn)
        assert theirs["first_player"] == ours["first_player"].translate(turn)
        assert (theirs["player_1_score"], theirs["player_2_score"]) == (ours["player_2_score"], ours["player_1_score"])
        assert theirs["states"] == ours["states"]
    assert other["result"] == one["result"].translate(turn)


def played(winner: int | None) -> dict[str, Any]:
    scores = [0, 0] if winner is None else [1 - 2 * winner, 2 * winner - 1]
    return {"end": "played", "winner": winner, "scores": scores}


def offended(*sides: int, message: str = "ply 2: bad") -> dict[str, Any]:
    winner = 1 - sides[0] if len(sides) == 1 else None
    return {"end": "forfeit", "winner": winner, "offenders": sides, "scores": [0, 0], "message": message}


def test_an_error_is_the_offenders_and_the_others_points(honest: Duel, game: PettingZooGame) -> None:
    rows = [offended(1), offended(1), offended(0, message=""), played(1), played(None), played(None)]
    document = rl_arena_document(changed(honest, rows), game)

    assert [match["result"] for match in document["matches"]] == [
        "PLAYER_2_ERROR", "PLAYER_2_ERROR", "PLAYER_1_ERROR", "PLAYER_2_WIN", "DRAW", "DRAW",
    ]  # fmt: skip
    assert [match["error_msg"] for match in document["matches"]] == ["ply 2: bad", "ply 2: bad", "forfeit", "", "", ""]
    assert (document["player_1_errors"], document["player_2_errors"], document["player_2_wins"], document["draws"]) == (
        1,
        2,
        1,
        2,
    )
    assert (document["player_1_score"], document["player_2_score"]) == (-1.0, 1.0)
    assert (document["result"], document["error_msg"]) == ("PLAYER_2_WIN", "")  # 2 to 2 by points, then by score


@pytest.mark.parametrize(("winners", "result"), [
    ((0, 0, 1, None, None, None), "PLAYER_1_WIN"),
    ((0, 1, 1, None, None, None), "PLAYER_2_WIN"),
    ((0, 1, None, None, None, None), "DRAW"),
])  # fmt: skip
def test_the_duel_is_won_by_points(winners: tuple[int | None, ...], result: str, honest: Duel, game: PettingZooGame) -> None:
    assert rl_arena_document(changed(honest, [played(winner) for winner in winners]), game)["result"] == result


def test_where_both_fail_the_arena_knows_only_an_error(honest: Duel, game: PettingZooGame) -> None:
    document = rl_arena_document(changed(honest, [offended(0, 1)] + [played(0)] * 5), game)

    assert (document["result"], document["other_errors"], document["player_1_wins"]) == ("ERROR", 1, 5)
    assert document["error_msg"] == "Both players failed in at least one of the matches"
    assert (document["matches"][0]["result"], document["matches"][0]["error_msg"]) == (
        "OTHER_ERROR", "both players failed: ply 2: bad",
    )  # fmt: skip


def test_a_failure_of_ours_is_an_error_without_matches(honest: Duel, game: PettingZooGame) -> None:
    failed = {"verdict": "internal_error", "message": "the engine is gone", "matches": [], "moves": None}
    duel = Duel.with_self_hash({**honest.document(), **failed, "milliseconds": None})
    document = rl_arena_document(duel, game)

    assert (document["result"], document["error_msg"], document["num_matches"]) == ("ERROR", "the engine is gone", 0)
    assert (document["matches"], document["player_1_score"], document["draws"]) == ([], 0.0, 0)


def test_tictactoe_is_nine_cells_and_the_side_to_move(game: PettingZooGame) -> None:
    states = rl_arena_states(game, SEED, [0, 4, 1, 5, 2])

    assert states == [
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        [1, 0, 0, 0, 0, 0, 0, 0, 0, -1],
        [1, 0, 0, 0, -1, 0, 0, 0, 0, 1],
        [1, 1, 0, 0, -1, 0, 0, 0, 0, -1],
        [1, 1, 0, 0, -1, -1, 0, 0, 0, 1],
        [1, 1, 1, 0, -1, -1, 0, 0, 0, 1],  # over: the turn does not pass
    ]
    assert {type(cell) for state in states for cell in state} == {float}


def test_connect_four_is_42_cells_from_the_top_and_the_side_to_move() -> None:
    game = open_game(CONNECT_FOUR)
    states = rl_arena_states(game, SEED, [3, 3, 0, 6])

    assert len(states) == 5
    assert all(len(state) == 43 for state in states)
    assert [state[42] for state in states] == [1, -1, 1, -1, 1]
    expected = [0.0] * 42
    expected[35 + 3], expected[28 + 3], expected[35 + 0], expected[35 + 6] = 1.0, -1.0, 1.0, -1.0
    assert states[-1][:42] == expected


@pytest.mark.parametrize("seed", range(5))
def test_connect_four_follows_the_arenas_own_rules(seed: int) -> None:
    """Against the arena's transition, written again here from its description."""
    game = open_game(CONNECT_FOUR)
    chance = random.Random(seed)
    board, moves = [0.0] * 42 + [1.0], list[int]()
    expected = [list(board)]
    current = game.start(SEED)
    while not current.over:
        move = chance.choice(game.legal(current.observe()))
        moves.append(move)
        cell = max(7 * row + move for row in range(6) if board[7 * row + move] == 0)
        board[cell] = board[42]
        current.play(move)
        board[42] *= 1 if current.over else -1
        expected.append(list(board))

    assert rl_arena_states(game, SEED, moves) == expected


def test_quarto_is_16_cells_and_the_piece_in_hand_between_turns() -> None:
    game = open_game(QUARTO)
    empty = [-1] * 17
    states = rl_arena_states(game, SEED, [15, 16 + 5, 0, 16 + 15, 9])

    assert states == [
        empty,
        [*empty[:16], 15],
        [*empty[:5], 15, *empty[6:16], 0],
        [*empty[:5], 15, *empty[6:15], 0, 9],
    ]
    assert {type(cell) for state in states for cell in state} == {int}


def test_quarto_ends_with_the_winning_piece_on_the_board() -> None:
    game = open_game(QUARTO)
    states = rl_arena_states(game, SEED, [0, 16, 1, 17, 2, 18, 3, 19])

    assert states[-1] == [0, 1, 2, 3] + [-1] * 13
    assert len(states) == 6


def test_another_game_shows_what_the_mover_sees() -> None:
    game = open_game(RPS)
    moves = [0, 1, 2, 2]
    board = game.start(SEED)
    expected = [int(board.observe())]
    for move in moves:
        board.play(move)
        expected.append(int(board.observe_as(board.mover)))

    assert rl_arena_states(game, SEED, moves) == expected


def test_observations_become_nested_lists() -> None:
    task = TICTACTOE.model_copy(update={"game": "pettingzoo.classic.tictactoe_v3", "id": "mine"})
    plain = open_game(task)
    unknown = open_game(task.model_copy(update={"game": "tests.evaluator.host.duels.test_rl_arena_format:own_tictactoe"}))

    states = rl_arena_states(unknown, SEED, [4])
    assert states[0] == [[[0, 0]] * 3] * 3
    assert states[1] == [[[0, 0]] * 3, [[0, 0], [0, 1], [0, 0]], [[0, 0]] * 3]
    assert rl_arena_states(plain, SEED, [4])[1][4] == 1.0


def own_tictactoe() -> Any:
    """A host's own game, which the arena does not know."""
    return tictactoe_v3.raw_env()


def test_moves_that_are_not_the_games_are_refused(game: PettingZooGame) -> None:
    with pytest.raises(ValueError, match="the move 4 at ply 1 is not legal"):
        rl_arena_states(game, SEED, [4, 4])
