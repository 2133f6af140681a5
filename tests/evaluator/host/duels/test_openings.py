"""Openings are drawn from the duel's seeds alone, uniformly among the legal moves."""

from typing import Any

import numpy as np

from evaluator.host.duels.openings import draw_openings
from evaluator.host.envs.pettingzoo_game import open_game, replay
from evaluator.model.config.task import Task

TINY = "tests.evaluator.tiny_games"
SEEDS = [f"{i:032x}" for i in range(1, 31)]


def task(game: str, **changes: Any) -> Task:
    return Task(id="game", **{"game": game, "opening": 0, **changes})


def test_openings_are_a_function_of_the_seeds_and_differ_from_pair_to_pair() -> None:
    game = open_game(task("pettingzoo.classic.tictactoe_v3", opening=2))

    drawn = draw_openings(game, SEEDS)

    assert drawn == draw_openings(game, SEEDS)
    assert draw_openings(game, SEEDS[:7]) == drawn[:7]
    assert len({tuple(opening) for opening in drawn}) == len(SEEDS)
    assert all(len(opening) == 2 and opening[0] != opening[1] for opening in drawn)


def test_openings_are_uniform_over_the_legal_moves() -> None:
    game = open_game(task("pettingzoo.classic.tictactoe_v3", opening=1))
    counts = np.zeros(9)
    for index in range(900):
        counts[draw_openings(game, [f"{index:032x}"])[0][0]] += 1

    assert ((counts - 100) ** 2 / 100).sum() < 26  # chi square with 8 degrees of freedom, one in a thousand


def test_when_there_are_not_enough_openings_some_come_twice() -> None:
    game = open_game(task("pettingzoo.classic.tictactoe_v3", opening=1))

    drawn = draw_openings(game, SEEDS[:12])

    assert len({tuple(opening) for opening in drawn}) == 9
    assert len(drawn) == 12


def test_an_opening_that_ends_the_game_is_drawn_again_and_taken_only_when_all_do() -> None:
    all_end = open_game(task(TINY, opening=6, kwargs={"length": 4}))

    assert [len(opening) for opening in draw_openings(all_end, SEEDS[:3])] == [4, 4, 4]
    some_end = open_game(task("pettingzoo.classic.tictactoe_v3", opening=7))
    for seed, opening in zip(SEEDS, draw_openings(some_end, SEEDS), strict=True):
        assert replay(some_end, seed, opening, 0).over is False
