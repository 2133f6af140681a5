"""Games of two: makes them, steps them, draws openings, replays moves. Nobody else knows what PettingZoo's AEC is."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from evaluator.host.envs.gym_task import EnvironmentFault, import_entry_point
from evaluator.host.envs.recorder import EpisodeChecksum
from evaluator.host.envs.spaces import ObservationEncoder
from evaluator.host.seeds.derive import environment_seed
from evaluator.model.config.challenge import Task

MASK = "action_mask"
DRAWS = 100
_SALT = 0x6F70656E
PLAYERS = 2


@dataclass(frozen=True, kw_only=True)
class PettingZooGame:
    """A task's game, ready to be made as often as needed."""

    task: Task
    """The settings."""
    players: tuple[str, str]
    """The environment's names for them; whose side is which changes from match to match."""
    observation_space: spaces.Space[Any]
    """What either of them sees."""
    action_space: spaces.Discrete
    """What either of them answers."""
    masked: bool
    """Whether the observation says which moves are legal; else every action is."""
    factory: Callable[..., Any]
    """Makes the environment from the task's `kwargs`."""

    def make(self, **more: Any) -> Any:
        """A fresh environment; `more` may add a render mode to the task's arguments."""
        return self.factory(**{**self.task.kwargs, **more})

    def encoder(self) -> ObservationEncoder:
        """A new encoder of its observations."""
        return ObservationEncoder(self.observation_space)

    def start(self, seed: str, **more: Any) -> "GamePosition":
        """A fresh board, from that seed (32 hex digits); `more` as in `make`."""
        environment = self.make(**more)
        environment.reset(seed=environment_seed(seed, self.task.seed_bits))
        return GamePosition(self, environment)

    def legal(self, observation: Any) -> list[int]:
        """The moves that are legal for who sees this."""
        if self.masked:
            return np.flatnonzero(observation[MASK]).tolist()
        return list(range(int(self.action_space.n)))


class GamePosition:
    """One running game. A player here is 0 or 1: its place among the environment's players."""

    __slots__ = ("_environment", "_observe", "_players", "_step", "mover", "over", "totals")

    def __init__(self, game: PettingZooGame, environment: Any) -> None:
        self._environment = environment
        self._step, self._observe = environment.step, environment.observe
        self._players = game.players
        self.totals = (0.0, 0.0)
        self.over = False
        self.mover = 0
        self._settle()

    def see(self) -> Any:
        """What the player to move sees."""
        return self._observe(self._players[self.mover])

    def seen_by(self, player: int) -> Any:
        """What a player sees, whoever is to move, also at the end."""
        return self._observe(self._players[player])

    def play(self, move: int) -> tuple[float, float]:
        """The player to move makes a legal move; returns what both got for it."""
        environment, players, totals = self._environment, self._players, self.totals
        self._step(move)
        rewards = environment.rewards
        earned = float(rewards.get(players[0], 0.0)), float(rewards.get(players[1], 0.0))
        self.totals = totals[0] + earned[0], totals[1] + earned[1]
        agent = environment.agent_selection
        if environment.terminations.get(agent, True) or environment.truncations.get(agent, True):
            self._settle()
        else:
            self.mover = 0 if agent == players[0] else 1
        return earned

    def _settle(self) -> None:
        """Find who is to move; the dead are stepped with None until somebody alive is, or nobody is left."""
        environment = self._environment
        ends, cuts = environment.terminations, environment.truncations
        if all(ends.get(name, True) or cuts.get(name, True) for name in self._players):
            self.over = True
            return
        while ends.get(agent := environment.agent_selection, True) or cuts.get(agent, True):
            environment.step(None)
            ends, cuts = environment.terminations, environment.truncations
        self.mover = self._players.index(agent)

    def render(self) -> Any:
        """The environment's own picture or text of the position, if it was made with a render mode."""
        return self._environment.render()

    def close(self) -> None:
        """The game is not needed any more."""
        self._environment.close()


def open_game(task: Task) -> PettingZooGame:
    """The game of a task.

    PettingZoo's `env` wraps `raw_env` in checks that the referee makes itself, all matches at once: raw is twice as fast.

    Raises:
        WorldError: there is no such game, it lacks a package, or it is not a game of two with equal spaces.
    """
    factory = _factory(task)
    with import_entry_point(f"the game {task.game} of task {task.id} cannot be made"):
        sample = factory(**task.kwargs)
        players = tuple(sample.possible_agents)
        seen = [sample.observation_space(name) for name in players]
        moves = [sample.action_space(name) for name in players]
        sample.reset(seed=0)
        sample.close()
        for space in seen[:1]:
            ObservationEncoder(space)
    if fault := _unfit(players, seen, moves):
        raise EnvironmentFault(f"the game {task.game} of task {task.id} {fault}")
    return PettingZooGame(
        task=task,
        players=(players[0], players[1]),
        observation_space=seen[0],
        action_space=moves[0],
        masked=isinstance(seen[0], spaces.Dict) and {MASK, "observation"} <= set(seen[0].spaces),
        factory=factory,
    )


def _unfit(players: Sequence[str], seen: list[Any], moves: list[Any]) -> str | None:
    """Why this is no game for a board, if it is none."""
    if len(players) != PLAYERS:
        return f"has {len(players)} players; a duel needs two"
    if seen[0] != seen[1] or moves[0] != moves[1]:
        return "gives its two players different spaces; a player must be able to take either side"
    if not isinstance(moves[0], spaces.Discrete) or moves[0].start != 0:
        return f"has the action space {moves[0]}; a move must be a number from 0, a Discrete space"
    mask = seen[0].spaces.get(MASK) if isinstance(seen[0], spaces.Dict) else None
    if mask is not None and (mask.shape != (moves[0].n,) or mask.dtype != np.int8):
        return f"has a mask that is not one int8 for each of the {moves[0].n} actions"
    return None


def _factory(task: Task) -> Callable[..., Any]:
    name, _, attribute = (task.game or "").partition(":")
    try:
        module = importlib.import_module(name)
    except (ImportError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise EnvironmentFault(f"task {task.id} names the game {task.game}, which is not here: {reason}") from error
    wanted = (attribute,) if attribute else ("raw_env", "env")
    found = next((getattr(module, one) for one in wanted if callable(getattr(module, one, None))), None)
    if found is None:
        raise EnvironmentFault(f"task {task.id}: the module {name} has no {' and no '.join(wanted)}")
    factory: Callable[..., Any] = found
    return factory


def openings(game: PettingZooGame, seeds: Sequence[str]) -> list[list[int]]:
    """The first moves of each pair of matches: drawn uniformly among legal ones, again while they are of no use.

    Of no use is an opening that ends the game, and one that an earlier pair of the duel has.
    """
    drawn: list[list[int]] = []
    for seed in seeds:
        tree = _Tree(game, seed)
        generator = np.random.default_rng([int(seed, 16), _SALT])
        for _ in range(DRAWS if game.task.opening else 1):
            opening: list[int] = []
            while len(opening) < game.task.opening and (legal := tree.legal(opening)):
                opening.append(legal[int(generator.integers(len(legal)))])
            if opening not in drawn and tree.legal(opening):
                break
        drawn.append(opening)
    return drawn


class _Tree:
    """The beginnings of one game from one seed, looked up once each."""

    def __init__(self, game: PettingZooGame, seed: str) -> None:
        self._game, self._seed = game, seed
        self._known: dict[tuple[int, ...], list[int]] = {}
        self._board: GamePosition | None = None
        self._at: list[int] = []

    def legal(self, moves: list[int]) -> list[int]:
        """What is legal after these moves; nothing where the game is over."""
        key = tuple(moves)
        if key not in self._known:
            if self._board is None or self._at != moves[:-1]:
                self._board = self._game.start(self._seed)
                for move in moves[:-1]:
                    self._board.play(move)
            if moves:
                self._board.play(moves[-1])
            self._at = list(moves)
            self._known[key] = [] if self._board.over else self._game.legal(self._board.see())
        return self._known[key]


@dataclass(frozen=True, kw_only=True)
class ReplayedGame:
    """One match as the game gives it now."""

    scores: tuple[float, float]
    """Return of each side."""
    over: bool
    """Whether the moves ended the game."""
    checksum: str
    """Over what the movers saw and what the game gave."""
    illegal: int | None
    """The first ply whose move is not legal or comes after the end; the rest was not played."""
    mover: int | None
    """The side to move now; None when the game is over."""
    legal: tuple[int, ...]
    """The moves that are legal now."""


def replay(game: PettingZooGame, seed: str, moves: Sequence[int], first: int) -> ReplayedGame:
    """Play recorded moves on a fresh board. `first` is the side that has the first of the game's players."""
    board = game.start(seed)
    seen: list[Any] = []
    earned: list[tuple[float, float]] = []
    encoder = game.encoder()
    checksum = EpisodeChecksum(len(encoder.leaves))
    illegal = None
    for ply, move in enumerate(moves):
        observation = None if board.over else board.see()
        if observation is None or move not in game.legal(observation):
            illegal = ply
            break
        seen.append(encoder.encode([observation]))
        earned.append(board.play(move))
    for leaves in seen:
        checksum.see(leaves)
    checksum.earn(np.array(earned, "<f8").tobytes())
    totals = board.totals
    found = ReplayedGame(
        scores=(totals[first], totals[1 - first]),
        over=board.over,
        checksum=checksum.close(len(earned), terminated=board.over, truncated=False),
        illegal=illegal,
        mover=None if board.over else board.mover ^ first,
        legal=() if board.over else tuple(game.legal(board.see())),
    )
    board.close()
    return found
