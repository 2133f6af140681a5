"""Players of other systems, written as those systems have them and run unmodified by their adapters."""

import importlib.util
import itertools
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from evaluator import wire
from evaluator.host.envs.pettingzoo_game import GamePosition, PettingZooGame, open_game
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import MatchEnd
from evaluator.sandbox.adapters import kaggle_connectx, rl_arena
from evaluator.sandbox.load_agent import AgentError, AgentFactory
from tests.duels import RANDOM, duelled
from tests.evaluations import process

SEED = "00" * 16
GAMES = {
    "tictactoe": "pettingzoo.classic.tictactoe_v3",
    "connect_four": "pettingzoo.classic.connect_four_v3",
    "quarto": "evaluator.environments.quarto",
}
PLAYER = """
import random
import numpy as np

SEEN = []


class Player:
    def __init__(self, train_mode):
        self.train_mode = train_mode
        self.calls = []
        SEEN.append(self)

    def start(self, state, valid_actions):
        return self.choose("start", state, valid_actions, None)

    def step(self, state, valid_actions, prev_reward):
        return self.choose("step", state, valid_actions, prev_reward)

    def end(self, state, prev_reward):
        self.calls.append(("end", state, None, prev_reward))

    def choose(self, how, state, valid_actions, reward):
        self.calls.append((how, state.copy(), valid_actions.copy(), reward))
        state[:] = 99  # players of the arena play on the state they are given
        return np.random.choice(valid_actions)
"""


def module_of(folder: Path, source: str) -> ModuleType:
    """The file as the sandbox imports it."""
    path = folder / "player.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("agent", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def task(name: str, **changes: Any) -> Task:
    return Task(id=name, game=GAMES[name], **{"matches": 6, **changes})


def adapted(folder: Path, source: str, make: Callable[[ModuleType], type]) -> tuple[ModuleType, Callable[[], Any]]:
    module = module_of(folder, source)
    return module, make(module)


class ArenaState:
    """rl-arena's own rules of its boards, written down a second time from its documents: what a state must be."""

    def __init__(self, name: str) -> None:
        self.width, self.height = (3, 3) if name == "tictactoe" else (7, 6)
        self.cells = [0.0] * (self.width * self.height)
        self.turn = 1.0

    def play(self, action: int, *, over: bool) -> None:
        column = [action] if self.width == 3 else [self.width * row + action for row in reversed(range(self.height))]
        cell = next(cell for cell in column if self.cells[cell] == 0)
        self.cells[cell] = self.turn
        self.turn = self.turn if over else -self.turn

    def state(self) -> list[float]:
        return [*self.cells, self.turn]


def played(
    game: PettingZooGame, players: list[Any], openers: list[int], watch: Callable[[int, GamePosition], None]
) -> GamePosition:
    """A match of two adapted players after an opening; `watch` is told each move."""
    board = game.start(SEED)
    for move in openers:
        board.play(move)
        watch(move, board)
    while not board.over:
        move = players[board.mover].act(board.observe())
        assert move in game.legal(board.observe())
        board.play(move)
        watch(move, board)
    for side in (0, 1):
        players[side].end(board.observe_as(side), board.totals[side])
    return board


@pytest.mark.parametrize("name", ["tictactoe", "connect_four"])
@pytest.mark.parametrize("seed", range(10))
def test_arena_player_is_told_what_the_arena_tells(tmp_path: Path, name: str, seed: int) -> None:
    np.random.seed(seed)
    module, agent = adapted(tmp_path, PLAYER, rl_arena.agent)
    game = open_game(task(name))
    arena = ArenaState(name)
    states = [arena.state()]

    def watch(move: int, board: GamePosition) -> None:
        arena.play(move, over=board.over)
        states.append(arena.state())

    board = played(game, [agent(), agent()], [0, 1], watch)

    for side, player in enumerate(module.SEEN):
        *moves, (how, last, _, reward) = player.calls
        assert player.train_mode is False
        assert [call[0] for call in moves] == ["start", *["step"] * (len(moves) - 1)]
        assert [call[1].tolist() for call in moves] == states[2 + side : -1 : 2]
        assert (how, last.tolist(), reward) == ("end", states[-1], board.totals[side])
        for _, state, valid, prev_reward in moves:
            top = [cell for cell in range(len(state) - 1) if name == "tictactoe" or cell < 7]
            assert valid.tolist() == [cell for cell in top if state[cell] == 0]
            assert prev_reward in (None, 0)


@pytest.mark.parametrize("plies", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(5))
def test_arena_player_plays_quarto_in_one_move_what_we_ask_in_two(tmp_path: Path, plies: int, seed: int) -> None:
    np.random.seed(seed)
    module, agent = adapted(tmp_path, PLAYER, rl_arena.agent)
    game = open_game(task("quarto"))
    lots = random.Random(seed)
    opening: list[int] = []
    board = game.start(SEED)
    while len(opening) < plies:
        opening.append(lots.choice(game.legal(board.observe())))
        board.play(opening[-1])
    positions: list[list[int]] = []

    board = played(game, [agent(), agent()], opening, lambda _, at: positions.append(at.observe()["observation"].tolist()))

    for side, player in enumerate(module.SEEN):
        *moves, (how, last, _, reward) = player.calls
        assert [call[0] for call in moves] == ["start", *["step"] * (len(moves) - 1)]
        assert (how, reward) == ("end", 100 * board.totals[side])
        assert last[:16].tolist() == board.observe_as(0)["observation"][:16].tolist()
        for how, state, valid, _ in moves:
            cells, hand = state[:16].tolist(), int(state[16])
            left = set(range(16)) - {*cells, hand}
            free = [cell for cell in range(16) if cells[cell] == -1]
            pairs = [divmod(action, 16) for action in valid.tolist()]
            cells_asked = sorted({cell for cell, _ in pairs})
            assert hand in range(16)
            assert pairs == [(cell, piece) for cell in cells_asked for piece in sorted(left)]
            # All free cells, but for the question that only completes an opening's turn.
            assert cells_asked == free or (how == "start" and len(cells_asked) == 1 and cells_asked[0] in free)


def test_arena_quarto_after_an_opening_places_what_is_placed_and_gives_what_the_player_gives(tmp_path: Path) -> None:
    source = PLAYER.replace("np.random.choice(valid_actions)", "valid_actions[-1]")
    module, agent = adapted(tmp_path, source, rl_arena.agent)
    game = open_game(task("quarto"))
    board = game.start(SEED)
    for move in (5, 16 + 9):
        board.play(move)
    player = agent()

    given = player.act(board.observe())
    board.play(given)

    [(how, state, valid, _)] = module.SEEN[0].calls
    assert (how, state.tolist()) == ("start", [*[-1] * 16, 5])
    assert valid.tolist() == [16 * 9 + piece for piece in range(16) if piece != 5]
    assert given == 15


def test_arena_quarto_begins_with_the_arenas_first_piece(tmp_path: Path) -> None:
    module, agent = adapted(tmp_path, PLAYER, rl_arena.agent)

    assert agent().act(open_game(task("quarto")).start(SEED).observe()) == 15
    assert module.SEEN[0].calls == []


ALWAYS = """
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions, prev_reward=0): return {0}
    step = start
    def end(self, state, prev_reward): pass
"""


@pytest.mark.parametrize(
    ("answer", "given"),
    [("3.0", 3), ("np.int64(2)", 2), ("True", 1), ("-2", -2), ("7", 7), ("10 ** 30", 10**30), ("'x'", "x"), ("None", None)],
)
def test_what_an_arena_player_returns_is_made_an_integer_as_there_or_left_to_be_refused(
    tmp_path: Path, answer: str, given: Any
) -> None:
    _, agent = adapted(tmp_path, "import numpy as np\n" + ALWAYS.format(answer), rl_arena.agent)

    assert agent().act(open_game(task("connect_four")).start(SEED).observe()) == given


@pytest.mark.parametrize("answer", [-1, -16, -257, 256, 4096, 10**30, "x", None])
def test_no_wrong_action_of_quarto_becomes_a_legal_one(tmp_path: Path, answer: Any) -> None:
    _, agent = adapted(tmp_path, ALWAYS.format(repr(answer)), rl_arena.agent)
    game = open_game(task("quarto"))
    for moves in ([7], [7, 16], [7, 16, 3]):
        board = game.start(SEED)
        for move in moves:
            board.play(move)

        assert agent().act(board.observe()) not in game.legal(board.observe())


def test_piece_that_is_gone_is_refused_when_it_is_to_be_given(tmp_path: Path) -> None:
    _, agent = adapted(tmp_path, ALWAYS.format(16 * 4 + 7), rl_arena.agent)
    game = open_game(task("quarto"))
    board = game.start(SEED)
    board.play(7)
    player = agent()

    board.play(player.act(board.observe()))

    assert player.act(board.observe()) == 7
    assert 7 not in game.legal(board.observe())


KAGGLE = """
import numpy as np
from collections import Counter

COUNTED = Counter()


class Node:
    pass


def helper(board):
    return [column for column in range(7) if board[column] == 0]


def my_agent(observation, configuration):
    COUNTED["moves"] += 1
    assert observation["board"] is observation.board and len(observation.board) == configuration.columns * configuration.rows
    assert configuration["inarow"] == configuration.inarow == 4 and configuration.get("nothing") is None
    assert isinstance(observation.board, list) and isinstance(observation.board[0], int)
    assert observation.remainingOverageTime <= 60 and not hasattr(observation, "nothing")
    observation.board[0] = 2
    return int(np.random.choice(helper(observation.board[:7])) if helper(observation.board) else 0)
"""


def test_kaggle_agent_sees_its_board(tmp_path: Path) -> None:
    source = (
        "def agent(observation, configuration):\n    SEEN.append((observation, configuration))\n    return 3\nSEEN = []\n"
    )
    _, agent = adapted(tmp_path, source, kaggle_connectx.agent)
    board = open_game(task("connect_four")).start(SEED)
    first, second = agent(), agent()
    moves = []
    for player in (first, second, first):
        moves.append(player.act(board.observe()))
        board.play(moves[-1])

    boards = [(seen.board, seen.mark, seen.step) for seen, _ in first._function.__globals__["SEEN"]]
    assert moves == [3, 3, 3]
    assert boards[0] == ([0] * 42, 1, 0)
    assert boards[1] == ([0] * 31 + [2] + [0] * 6 + [1] + [0] * 3, 1, 2)
    [(seen, configuration)] = second._function.__globals__["SEEN"]
    assert (seen["mark"], seen.step, seen.board.index(1)) == (2, 1, 38)
    assert (configuration.columns, configuration.rows, configuration["inarow"], configuration.actTimeout) == (7, 6, 4, 2)


@pytest.mark.parametrize(
    "source",
    [
        "def agent(observation):\n    return observation.board.index(0)\n",
        "def agent(observation, configuration=None):\n    return observation['board'].index(0)\n",
        "agent = lambda obs, config: [c for c in range(config['columns']) if obs['board'][c] == 0][0]\n",
        "class Strategy:\n    def __call__(self, obs, config):\n        return 0\nrun = Strategy()\nclass Unused: pass\n",
        "def helper():\n    return 5\ndef chosen(obs, config):\n    return 0.0\n",
        "def agent(*arguments):\n    assert len(arguments) == 2\n    return 0\n",
    ],
)
def test_every_shape_of_kaggle_agent_runs(tmp_path: Path, source: str) -> None:
    _, agent = adapted(tmp_path, source, kaggle_connectx.agent)

    assert agent().act(open_game(task("connect_four")).start(SEED).observe()) == 0


def test_bank_that_a_kaggle_agent_sees_runs_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, agent = adapted(tmp_path, "def agent(o, c):\n    return int(o.remainingOverageTime)\n", kaggle_connectx.agent)
    times = itertools.chain([0.0, 5.0, 5.0, 5.1], itertools.repeat(5.1))
    monkeypatch.setattr("evaluator.sandbox.adapters.kaggle_connectx.time.monotonic", lambda: next(times))
    player, seen = agent(), open_game(task("connect_four")).start(SEED).observe()

    assert [player.act(seen), player.act(seen), player.act(seen)] == [20, 17, 17]


TELLS = """
def agent(observation, configuration):
    print(observation.remainingOverageTime, configuration.actTimeout)
    return [column for column in range(7) if observation.board[column] == 0][0]
"""


@pytest.mark.parametrize(
    ("clock", "line"), [({}, "20 2"), ({"move_seconds": 0.5, "bank_seconds": 90}, "90 0.5")], ids=["usual", "the host's"]
)
def test_a_kaggle_agent_is_told_the_clock_of_its_task(clock: dict[str, float], line: str) -> None:
    logs: list[str] = []
    game = Task.model_validate({**task("connect_four").model_dump(exclude_none=True), "matches": 2, "clock": clock})

    tally = duelled((TELLS, RANDOM), game, process(), adapters=("kaggle-connectx", None), logs=logs)

    assert {match.end for match in tally.matches} == {MatchEnd.PLAYED}
    assert logs[0].splitlines()[0] == line


def test_only_an_adapter_is_told_the_clock(tmp_path: Path) -> None:
    """Whoever takes all there is would be given an argument that he does not know."""
    module = module_of(tmp_path, "class Agent:\n    def __init__(self, **given):\n        self.given = given\n")
    hello = {
        "mode": "play", "task_id": "nim", "clock": {"move_seconds": 1, "bank_seconds": 1},
        "observation_space": {"type": "Discrete", "n": 2, "start": 0},
        "action_space": {"type": "Discrete", "n": 2, "start": 0},
    }  # fmt: skip

    made = AgentFactory(module.Agent, tmp_path, hello).make(1)

    assert set(made.given) == {"observation_space", "action_space", "task_id", "seed"}


@pytest.mark.parametrize(
    ("make", "source", "words"),
    [
        (rl_arena.agent, "class Agent:\n    pass\n", "defines no class Player"),
        (kaggle_connectx.agent, "board = 7\n", "defines no function"),
    ],
)
def test_file_of_another_kind_is_told_so(
    tmp_path: Path, make: Callable[[ModuleType], Callable[[], Any]], source: str, words: str
) -> None:
    with pytest.raises(AgentError, match=words) as caught:
        make(module_of(tmp_path, source))()

    assert caught.value.trouble is wire.ErrorReason.INVALID


@pytest.mark.parametrize(
    ("make", "games"), [(rl_arena.agent, ("rps",)), (kaggle_connectx.agent, ("rps", "tictactoe", "quarto"))]
)
def test_game_that_the_other_system_does_not_have_is_told_so(
    tmp_path: Path, make: Callable[[ModuleType], Callable[[], Any]], games: tuple[str, ...]
) -> None:
    agent = make(module_of(tmp_path, PLAYER + "\ndef last(observation, configuration):\n    return 0\n"))
    for name in games:
        seen = 3 if name == "rps" else open_game(task(name)).start(SEED).observe()

        with pytest.raises(AgentError, match=r"the adapter .* plays") as caught:
            agent().act(seen)
        assert caught.value.trouble is wire.ErrorReason.INVALID
