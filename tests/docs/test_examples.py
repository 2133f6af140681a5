"""The example players of games: what each claims of itself, over PettingZoo's own games."""

import copy
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pettingzoo import AECEnv
from pettingzoo.classic import connect_four_v3, rps_v2, tictactoe_v3

from evaluator.environments import quarto
from evaluator.host.loading.submission_folder import read_folder
from evaluator.host.loading.yaml_loader import read_challenge
from evaluator.model.config.submission_limits import SubmissionLimits

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "example_agents"
GAMES: dict[str, Any] = {
    "tictactoe": tictactoe_v3.raw_env,
    "connect_four": connect_four_v3.raw_env,
    "quarto": quarto.raw_env,
    "rock_paper_scissors": lambda: rps_v2.raw_env(max_cycles=50),
}


def source(name: str, file: str = "agent") -> ModuleType:
    """A module of an example's folder; what it imports from there is not left behind for the next one."""
    before = set(sys.modules)
    sys.path.insert(0, str(EXAMPLES / name))
    try:
        spec = importlib.util.spec_from_file_location(f"{file}_of_{name}", EXAMPLES / name / f"{file}.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(EXAMPLES / name))
        for path in EXAMPLES.joinpath(name).glob("*.py"):
            if path.stem not in before:
                sys.modules.pop(path.stem, None)


class Seat:
    """An agent as the sandbox would make and ask it, for one match after another."""

    def __init__(self, name: str, env: AECEnv, seed: int = 1) -> None:
        first = env.possible_agents[0]
        given = {"seed": seed, "action_space": env.action_space(first), "observation_space": env.observation_space(first)}
        made = source(name).Agent
        self.agent = made(**{key: value for key, value in given.items() if key in inspect.signature(made).parameters})

    def move(self, observation: Any) -> int:
        if not hasattr(self.agent, "act_batch"):
            return int(self.agent.act(observation if isinstance(observation, dict) else int(observation)))
        if isinstance(observation, dict):
            return int(self.agent.act_batch({key: value[None] for key, value in observation.items()})[0])
        return int(self.agent.act_batch(np.array([observation]))[0])


def play(env: AECEnv, seats: tuple[Seat, Seat], opening: tuple[int, ...] = ()) -> list[float]:
    """One match to its end; an illegal move is an error."""
    env.reset(seed=0)
    returns = dict.fromkeys(env.possible_agents, 0.0)
    for action in opening:
        env.step(action)
    while not (any(env.terminations.values()) or any(env.truncations.values())):
        observation = env.observe(env.agent_selection)
        action = seats[env.possible_agents.index(env.agent_selection)].move(observation)
        assert not isinstance(observation, dict) or observation["action_mask"][action] == 1
        env.step(action)
        for agent in returns:
            returns[agent] += env.rewards[agent]
    return list(returns.values())


def duel(game: str, one: str, other: str, matches: int) -> tuple[int, int, int]:
    """Wins, draws and losses of the first named, half of them from each side."""
    env = GAMES[game]()
    tally = [0, 0, 0]
    for match in range(matches):
        seats = Seat(one, env, match), Seat(other, env, match + 1000)
        scores = play(env, seats) if match % 2 == 0 else play(env, seats[::-1])[::-1]
        tally[1 - int(np.sign(scores[0] - scores[1]))] += 1
    return tally[0], tally[1], tally[2]


FOLDERS = sorted(path.parent for path in EXAMPLES.glob("*/submission.yml"))
PLAYERS = {path.name: read_folder(path, SubmissionLimits()).submission for path in FOLDERS}
ENTERED = [(game, name) for game in GAMES for name, submission in PLAYERS.items() if submission.enters(game)]


@pytest.mark.parametrize(("game", "name"), ENTERED)
def test_every_example_plays_its_games_by_the_rules(game: str, name: str) -> None:
    assert sum(duel(game, name, "random", 2)) == 2


def answers(env: AECEnv, seat: Seat, side: int, moves: tuple[int, ...] = ()) -> Iterator[float]:
    """The result for `seat` of each game that the other can lead it into, from the empty board."""
    env.reset()
    for move in moves:
        env.step(move)
    mover = env.agent_selection
    if any(env.terminations.values()):
        yield env.rewards[env.possible_agents[side]]
    elif env.possible_agents.index(mover) == side:
        yield from answers(env, seat, side, (*moves, seat.move(env.observe(mover))))
    else:
        for move in np.flatnonzero(env.observe(mover)["action_mask"]):
            yield from answers(env, seat, side, (*moves, int(move)))


@pytest.mark.parametrize("name", ["tictactoe-minimax", "tictactoe-tabular"])
@pytest.mark.parametrize("side", [0, 1])
def test_it_never_loses_tic_tac_toe_whatever_the_other_does(name: str, side: int) -> None:
    env = tictactoe_v3.raw_env()
    results = list(answers(env, Seat(name, env), side))

    assert len(results) > 50
    assert min(results) == 0
    assert max(results) == 1


def test_training_gives_the_table_that_lies_there() -> None:
    table = np.load(EXAMPLES / "tictactoe-tabular" / "table.npy", allow_pickle=False)

    assert np.array_equal(source("tictactoe-tabular", "train").learn(), table)


# Openings after which one move wins, or the other would win with one; and the columns that are right.
CONNECT_FOUR = {
    (0, 1, 0, 1, 0, 1): {0},  # wins upwards
    (6, 0, 1, 0, 5, 0): {0},  # blocks upwards
    (2, 2, 3, 3, 4, 4): {1, 5},  # wins across
    (0, 1, 1, 2, 2, 3, 2, 3, 3, 6): {3},  # wins on a diagonal
}


@pytest.mark.parametrize("name", ["greedy", "connect-four-minimax", "connect-four-mcts"])
@pytest.mark.parametrize(("opening", "right"), CONNECT_FOUR.items())
def test_who_looks_ahead_at_connect_four_wins_or_blocks(name: str, opening: tuple[int, ...], right: set[int]) -> None:
    env = connect_four_v3.raw_env()
    env.reset()
    for move in opening:
        env.step(move)

    assert Seat(name, env).move(env.observe(env.agent_selection)) in right


@pytest.mark.parametrize(
    ("opening", "right"), [((0, 3, 1, 4), {2}), ((4, 0, 8, 1), {2}), ((0, 4, 2, 8), {1}), ((0, 8, 4), {1, 2, 3, 5, 6, 7})]
)
def test_greedy_wins_or_blocks_at_tic_tac_toe(opening: tuple[int, ...], right: set[int]) -> None:
    env = tictactoe_v3.raw_env()
    env.reset()
    for move in opening:
        env.step(move)

    assert Seat("greedy", env).move(env.observe(env.agent_selection)) in right


def test_the_tree_search_sees_each_position_of_a_batch_by_itself() -> None:
    env = connect_four_v3.raw_env()
    shown = []
    for opening in CONNECT_FOUR:
        env.reset()
        for move in opening:
            env.step(move)
        shown.append(env.observe(env.agent_selection))
    batch = {key: np.stack([one[key] for one in shown]) for key in shown[0]}

    moves = Seat("connect-four-mcts", env).agent.act_batch(batch).tolist()

    assert all(move in right for move, right in zip(moves, CONNECT_FOUR.values(), strict=True))


def test_the_tree_searchs_board_knows_fours_and_what_makes_them() -> None:
    board = source("connect-four-mcts", "board")
    env = connect_four_v3.raw_env()
    rng = np.random.default_rng(2)
    lines = 0
    for _ in range(30):
        env.reset()
        while not any(env.terminations.values()):
            shown = env.observe(env.agent_selection)
            mine = np.where(shown["observation"][:, :, 0], board.BITS, 0).sum(keepdims=True).reshape(1)
            theirs = np.where(shown["observation"][:, :, 1], board.BITS, 0).sum(keepdims=True).reshape(1)
            column = int(rng.choice(np.flatnonzero(shown["action_mask"])))
            landing = board.landing_cells(mine, theirs) & board.COLUMNS[column]
            assert landing[0]
            wins = bool(board.winning_cells(mine) & landing)
            assert wins == bool(board.fours(mine | landing)[0])
            env.step(column)
            assert wins == any(env.rewards.values())
            lines += wins

    assert lines > 20


def test_three_throwers_go_round_in_a_circle_and_markov_beats_them() -> None:
    circle = ("rps-rock", "rps-anticipate", "rps-counter")
    for winner, loser in zip(circle, (*circle[1:], circle[0]), strict=True):
        assert duel("rock_paper_scissors", winner, loser, 4) == (4, 0, 0)
        assert duel("rock_paper_scissors", "rps-markov", winner, 4) == (4, 0, 0)


def test_careful_at_quarto_hardly_ever_loses_to_random() -> None:
    assert duel("quarto", "quarto-careful", "random", 40)[0] >= 37


def worth(game: quarto.QuartoEnv, action: int, mover: str) -> float:
    """What a move is worth to `mover` when both play perfectly, by trying everything on copies of the game."""
    after = copy.deepcopy(game)
    after.step(action)
    if any(after.terminations.values()):
        return float(after.rewards[mover])
    legal = np.flatnonzero(after.observe(after.agent_selection)["action_mask"]).tolist()
    return (max if after.agent_selection == mover else min)(worth(after, move, mover) for move in legal)


def test_the_endgame_of_quarto_is_perfect() -> None:
    rng = np.random.default_rng(5)
    seat = Seat("quarto-endgame", quarto.raw_env())
    differing = 0
    for position in range(40):
        game = quarto.raw_env()
        game.reset()
        while not any(game.terminations.values()):
            shown = game.observe(game.agent_selection)
            legal = np.flatnonzero(shown["action_mask"]).tolist()
            if (shown["observation"][:16] == -1).sum() == 3 and len(legal) == 3 + position % 2:
                values = {move: worth(game, move, game.agent_selection) for move in legal}
                assert values[seat.move(shown)] == max(values.values())
                differing += len(set(values.values())) > 1
            game.step(int(rng.choice(legal)))

    assert differing > 3


def test_the_games_of_the_chess_extra_are_well_formed_and_go_runs() -> None:
    tasks = {task.id: task for task in read_challenge(ROOT / "evaluator/environments/chess.yml").games}
    assert {name: task.extra for name, task in tasks.items()} == {"chess": "chess", "go_9x9": None}

    go = importlib.import_module(str(tasks["go_9x9"].game)).raw_env(**tasks["go_9x9"].kwargs)
    seat = Seat("random", go)

    assert sorted(play(go, (seat, seat))) == [-1, 1]
    assert go.observe(go.possible_agents[0])["observation"].shape == (9, 9, 17)
