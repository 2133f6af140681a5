"""Positions drawn from moves are the positions that the environments come to."""

import importlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.model.config.task import Task
from leaderboard.games.game_drawings import action_word, drawing_of, position_text
from leaderboard.games.match_svg import final_position_svg
from tests.leaderboard.pages import game_samples

GAMES = {task.id: task for task in game_samples.DRAWN}


def standing(task, moves, first=0, refused=None, ply=None):
    """The marks after so many moves, as (style, x, y)."""
    kind = drawing_of(task)
    ply = len(moves) if ply is None else ply
    marks = kind.render(moves, first, refused)
    return [(kind.symbols[m.symbol], m.x, m.y) for m in marks if m.begin <= ply and (m.end is None or ply < m.end)]


def environment(task, moves):
    env = importlib.import_module(task.game).raw_env(**task.kwargs)
    env.reset(seed=1)
    for move in moves:
        env.step(move)
    return env


def matches(task, count=30):
    chance = random.Random(5)
    return [game_samples.played(task, chance) for _ in range(count)]


@pytest.mark.parametrize("task", [game_samples.TICTACTOE, game_samples.CONNECT_FOUR], ids=lambda task: task.id)
@pytest.mark.parametrize("first", [0, 1])
def test_stones_stand_where_the_environment_has_them(task, first):
    columns, rows = (3, 3) if task.id == "tictactoe" else (7, 6)
    for moves, _ in matches(task):
        for ply in range(len(moves) + 1):
            env = environment(task, moves[:ply])
            stones = env.board.squares if task.id == "tictactoe" else env.board
            cells = (
                (i // rows, i % rows) if task.id == "tictactoe" else (i % columns, i // columns) for i in range(len(stones))
            )
            wanted = {
                (x + 0.5, y + 0.5, "ab"[first ^ (owner - 1)]) for (x, y), owner in zip(cells, stones, strict=True) if owner
            }
            drawn = {(x, y, s.style[-1]) for s, x, y in standing(task, moves, first, ply=ply) if s.style != "pr-line"}

            assert drawn == wanted


@pytest.mark.parametrize(
    "task", [game_samples.TICTACTOE, game_samples.CONNECT_FOUR, game_samples.QUARTO], ids=lambda t: t.id
)
def test_a_line_is_marked_if_and_only_if_somebody_won(task):
    for moves, returns in matches(task, 60):
        marked = [s for s, _, _ in standing(task, moves) if s.style == "pr-line"]
        before = [s for s, _, _ in standing(task, moves, ply=len(moves) - 1) if s.style == "pr-line"]

        assert bool(marked) == (returns[0] != returns[1])
        assert not before


def test_quarto_shows_every_piece_exactly_once():
    for moves, _ in matches(game_samples.QUARTO):
        kind = drawing_of(game_samples.QUARTO)
        for ply in range(len(moves) + 1):
            marks = [m for m in kind.render(moves, 0, None) if m.begin <= ply and (m.end is None or ply < m.end)]
            shown = environment(game_samples.QUARTO, moves[:ply]).observe("player_0")["observation"].tolist()
            cells = {(m.x - 0.5, m.y - 0.5): m.symbol for m in marks if m.symbol < 16 and m.y < 4}

            assert sorted(m.symbol % 16 for m in marks if m.symbol < 32) == list(range(16))
            assert cells == {(i % 4, i // 4): piece for i, piece in enumerate(shown[:16]) if piece >= 0}
            assert [m.symbol for m in marks if m.symbol < 16 and m.y > 4] == [piece for piece in shown[16:] if piece >= 0]


@pytest.mark.parametrize("task", [game_samples.TICTACTOE, game_samples.QUARTO, game_samples.ROUNDS], ids=lambda t: t.id)
def test_the_mover_is_the_one_whose_turn_it_is(task):
    for moves, _ in matches(task, 5):
        env = environment(task, [])
        for ply, side in enumerate(drawing_of(task).movers(len(moves), 1)):
            assert env.possible_agents.index(env.agent_selection) == side ^ 1
            env.step(moves[ply])


def test_rounds_light_up_as_the_environment_rewards_them():
    for moves, returns in matches(game_samples.ROUNDS):
        for first in (0, 1):
            lights = [s.style[-1] for s, _, _ in standing(game_samples.ROUNDS, moves, first) if "pr-light" in s.style]
            balance = lights.count("ab"[first]) - lights.count("ba"[first])

            assert balance == returns[0]


@pytest.mark.parametrize("name", GAMES)
def test_a_refused_move_is_crossed_out(name):
    moves = matches(GAMES[name], 1)[0][0][:2]
    drawn = [s.style for s, _, _ in standing(GAMES[name], moves, refused=2)]

    assert drawn.count("pr-refused") == 1


@given(
    st.sampled_from(sorted(GAMES)), st.lists(st.integers(-3, 40), max_size=70), st.sampled_from([0, 1]), st.integers(-1, 99)
)
def test_a_record_that_makes_no_sense_is_drawn_all_the_same(name, moves, first, refused):
    kind = drawing_of(GAMES[name])
    marks = kind.render(moves, first, None if refused < 0 else refused)

    assert all(0 <= mark.symbol < len(kind.symbols) for mark in marks)
    assert "<svg" in final_position_svg(kind, marks, "words")
    assert kind.text(moves).strip()
    assert all(side in (0, 1) for side in kind.movers(len(moves), first))


def test_positions_are_told_in_characters():
    assert position_text(game_samples.TICTACTOE, [4, 0, 8]) == "O . .\n. X .\n. . X"
    assert position_text(game_samples.CONNECT_FOUR, [3, 3, 0]).splitlines()[-2:] == [". . . O . . .", "X . . X . . ."]
    assert position_text(game_samples.QUARTO, [5, 16, 9]).splitlines() == [
        "0101 ···· ···· ····", *["···· ···· ···· ····"] * 3, "in hand: 1001"
    ]  # fmt: skip
    assert position_text(game_samples.ROUNDS, [0, 2, 1]) == "rock – scissors\npaper"
    assert position_text(game_samples.UNKNOWN, [1]) is None


def test_actions_are_told_in_words():
    assert action_word(game_samples.CONNECT_FOUR, 3) == "drops into column 4"
    assert action_word(game_samples.QUARTO, 16 + 5) == "places it on row 2, column 2"
    assert action_word(game_samples.CONNECT_FOUR, 99) == "plays 99"
    assert action_word(game_samples.UNKNOWN, 5) == "plays 5"


@pytest.mark.parametrize("kwargs", [{"max_cycles": 10**9}, {"max_cycles": "many"}, {"num_actions": 5}])
def test_rounds_that_cannot_be_drawn_are_not(kwargs):
    assert drawing_of(Task(id="rps", game="pettingzoo.classic.rps_v2", kwargs=kwargs)) is None


def test_a_factory_of_the_same_module_is_drawn_too():
    assert drawing_of(Task(id="q", game="evaluator.environments.quarto:raw_env")) is drawing_of(game_samples.QUARTO)
    assert drawing_of(Task(id="c", game="pettingzoo.classic.connect_four_v9")) is drawing_of(game_samples.CONNECT_FOUR)
