"""Games are stepped as PettingZoo's own loop steps them, and replays are exact."""

import random
from typing import Any

import numpy as np
import pytest
from pettingzoo.classic import connect_four_v3, rps_v2, tictactoe_v3

from evaluator.host.envs.pettingzoo_game import GamePosition, open_game, replay
from evaluator.host.errors import EnvironmentFault
from evaluator.host.seeds.derived_seeds import environment_seed
from evaluator.model.config.task import Task

TINY = "tests.evaluator.tiny_games"
SEEDS = [f"{i:032x}" for i in range(1, 31)]


def task(game: str, **changes: Any) -> Task:
    return Task(id="game", **{"game": game, "opening": 0, **changes})


@pytest.mark.parametrize(
    ("module", "kwargs"),
    [
        (connect_four_v3, {}),
        (tictactoe_v3, {}),
        (rps_v2, {"max_cycles": 9}),
    ],
    ids=["connect four", "tic-tac-toe", "rock paper scissors"],
)
def test_scores_and_order_of_players_equal_the_documented_loop(module: Any, kwargs: dict[str, Any]) -> None:
    game = open_game(task(f"pettingzoo.classic.{module.__name__.rpartition('.')[2]}", kwargs=kwargs))
    generator = random.Random(0)
    for seed in SEEDS:
        environment = module.env(**kwargs)
        environment.reset(seed=environment_seed(seed, 128))
        totals = dict.fromkeys(environment.possible_agents, 0.0)
        moves: list[int] = []
        movers: list[str] = []
        for agent in environment.agent_iter():
            observation, reward, terminated, truncated, _ = environment.last()
            totals[agent] += reward
            if terminated or truncated:
                environment.step(None)
                continue
            legal = np.flatnonzero(observation["action_mask"]).tolist() if game.masked else [0, 1, 2]
            moves.append(generator.choice(legal))
            movers.append(agent)
            environment.step(moves[-1])

        board = game.start(seed)
        seen = []
        for move in moves:
            seen.append(game.players[board.mover])
            board.play(move)

        assert movers == seen
        assert board.over
        assert tuple(totals.values()) == board.totals


def test_a_player_who_is_done_is_stepped_over_and_the_other_goes_on() -> None:
    board = open_game(task(f"{TINY}:OneLeaves", kwargs={"pattern": "lrlrr", "length": 5})).start(SEEDS[0])
    movers = []
    for move in (1, 2, 3, 2, 1):
        movers.append(board.mover)
        board.play(move)

    assert movers == [0, 1, 0, 1, 1]
    assert board.over
    assert board.totals == (4.0, 5.0)


@pytest.mark.parametrize(
    ("game", "words"),
    [
        ("tests.evaluator.no_such_game", "which is not here"),
        (f"{TINY}:nothing", "has no nothing"),
        ("tests.evaluations", "has no raw_env and no env"),
        (f"{TINY}:Three", "has 3 players"),
        (f"{TINY}:Uneven", "different spaces"),
        (f"{TINY}:Shifted", "a number from 0"),
        (f"{TINY}:Mismasked", "one int8 for each of the 4 actions"),
    ],
)
def test_what_is_no_game_of_two_is_refused_in_words(game: str, words: str) -> None:
    with pytest.raises(EnvironmentFault, match=words):
        open_game(task(game))


def test_arguments_that_the_factory_refuses_are_the_hosts_to_mend() -> None:
    with pytest.raises(EnvironmentFault, match="cannot be made"):
        open_game(task(TINY, kwargs={"colour": "red"}))


def test_replay_says_which_side_scored_and_whose_move_it_is() -> None:
    game = open_game(task(TINY, kwargs={"pattern": "lrr"}))

    one = replay(game, SEEDS[0], [1, 2, 0], 0)
    other = replay(game, SEEDS[0], [1, 2, 0], 1)

    assert (one.scores, one.over, one.mover, one.illegal, one.legal) == ((1.0, 2.0), False, 0, None, (0, 1, 2))
    assert (other.scores, other.mover, other.checksum) == ((2.0, 1.0), 1, one.checksum)


def test_replay_stops_at_the_first_move_that_is_not_legal_or_comes_after_the_end() -> None:
    game = open_game(task(TINY, kwargs={"length": 3}))

    assert replay(game, SEEDS[0], [0, 3, 1], 0).illegal == 1
    assert replay(game, SEEDS[0], [0, 1, 1, 1], 0).illegal == 3
    assert replay(game, SEEDS[0], [0, -1], 0).illegal == 1


def test_a_checksum_tells_moves_rewards_and_observations_apart() -> None:
    game = open_game(task(TINY))
    unmasked = open_game(task(TINY, kwargs={"masked": False}))
    checksums = [
        replay(which, SEEDS[0], moves, 0).checksum
        for which, moves in ((game, [1, 2]), (game, [2, 1]), (game, [1]), (unmasked, [1, 2]))
    ]

    assert len(set(checksums)) == 4


def test_a_board_draws_itself_where_the_environment_does() -> None:
    board = open_game(task("pettingzoo.classic.tictactoe_v3")).start(SEEDS[0], render_mode="rgb_array")
    board.play(4)

    assert board.render().ndim == 3
    board.close()


def test_a_board_shows_either_player_its_own_view_also_at_the_end() -> None:
    board = open_game(task(TINY, kwargs={"length": 1})).start(SEEDS[0])
    assert isinstance(board, GamePosition)
    board.play(2)

    assert board.over
    assert [board.observe_as(player)["observation"].tolist() for player in (0, 1)] == [[0, 1, 2], [1, 1, 2]]
