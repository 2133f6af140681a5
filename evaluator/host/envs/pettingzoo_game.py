"""Two-player games of PettingZoo's AEC interface: making and stepping them, replaying moves."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from gymnasium import spaces

from evaluator.host.envs.episode_recorder import EpisodeChecksum
from evaluator.host.envs.gym_task import PlayableTask, cached, import_entry_point
from evaluator.host.envs.spaces import ObservationEncoder
from evaluator.host.errors import EnvironmentFault
from evaluator.host.seeds.derived_seeds import environment_seed
from evaluator.model.config.task import Task

MASK = "action_mask"
PLAYERS = 2


@dataclass(frozen=True, kw_only=True)
class PettingZooGame(PlayableTask):
    """A task with its game, which makes as many environments as needed."""

    players: tuple[str, str]
    """The environment's names of its players; which side plays which changes from match to match."""
    action_space: spaces.Discrete
    masked: bool
    """Whether the observation says which moves are legal; otherwise every action is."""
    factory: Callable[..., Any]

    def make(self, **more: Any) -> Any:
        """A new environment; `more` may add a render mode to the task's arguments."""
        return self.factory(**{**self.task.kwargs, **more})

    def start(self, seed: str, **more: Any) -> "GamePosition":
        """The first position, from this seed (32 hex digits); `more` as in `make`."""
        environment = self.make(**more)
        environment.reset(seed=environment_seed(seed, self.task.seed_bits))
        return GamePosition(self, environment)

    def legal(self, observation: Any) -> list[int]:
        """The legal moves of the player with this observation."""
        if self.masked:
            return np.flatnonzero(observation[MASK]).tolist()
        return list(range(int(self.action_space.n)))


class GamePosition:
    """The position of a running game. A player is 0 or 1: its index among the environment's players."""

    __slots__ = ("_environment", "_observe", "_players", "_step", "mover", "over", "totals")

    def __init__(self, game: PettingZooGame, environment: Any) -> None:
        self._environment = environment
        self._step, self._observe = environment.step, environment.observe
        self._players = game.players
        self.totals = (0.0, 0.0)
        self.over = False
        self.mover = 0
        self._settle()

    def observe(self) -> Any:
        """The observation of the player to move."""
        return self._observe(self._players[self.mover])

    def observe_as(self, player: int) -> Any:
        """A player's observation, also when it is not to move or the game is over."""
        return self._observe(self._players[player])

    def play(self, move: int) -> tuple[float, float]:
        """Play a legal move; returns both players' rewards."""
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
        """Find the player to move, after stepping terminated agents with None as AEC asks for."""
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
        """The environment's picture or text, if it was made with a render mode."""
        return self._environment.render()

    def close(self) -> None:
        """Close the environment."""
        self._environment.close()


def open_game(task: Task) -> PettingZooGame:
    """The game of a task.

    `raw_env` is twice as fast as `env`, whose checks the referee makes itself, for all matches at once.

    Raises:
        EnvironmentFault: there is no such game, it lacks a package, or it is not a game of two with equal spaces.
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


cached_game = cached(open_game)


def _unfit(players: Sequence[str], seen: list[Any], moves: list[Any]) -> str | None:
    """Why this game cannot be played here; None if it can."""
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
    names = (attribute,) if attribute else ("raw_env", "env")
    for candidate in names:
        if callable(factory := getattr(module, candidate, None)):
            return cast("Callable[..., Any]", factory)
    raise EnvironmentFault(f"task {task.id}: the module {name} has no {' and no '.join(names)}")


@dataclass(frozen=True, kw_only=True)
class ReplayedGame:
    """A match after its replay."""

    scores: tuple[float, float]
    over: bool
    checksum: str
    """Over the observations of the players to move, and the rewards."""
    illegal: int | None
    """The first ply whose move is not legal or comes after the end; the rest was not played."""
    mover: int | None
    """The side to move now; None when the game is over."""
    legal: tuple[int, ...]


def replay(game: PettingZooGame, seed: str, moves: Sequence[int], first: int) -> ReplayedGame:
    """Play recorded moves in a new game. `first` is the side that plays the game's first player."""
    position = game.start(seed)
    seen: list[Any] = []
    earned: list[tuple[float, float]] = []
    encoder = game.encoder()
    checksum = EpisodeChecksum(len(encoder.leaves))
    illegal = None
    for ply, move in enumerate(moves):
        observation = None if position.over else position.observe()
        if observation is None or move not in game.legal(observation):
            illegal = ply
            break
        seen.append(encoder.encode([observation]))
        earned.append(position.play(move))
    for leaves in seen:
        checksum.add_observations(leaves)
    checksum.add_rewards(np.array(earned, "<f8").tobytes())
    totals = position.totals
    replayed = ReplayedGame(
        scores=(totals[first], totals[1 - first]),
        over=position.over,
        checksum=checksum.close(len(earned), terminated=position.over, truncated=False),
        illegal=illegal,
        mover=None if position.over else position.mover ^ first,
        legal=() if position.over else tuple(game.legal(position.observe())),
    )
    position.close()
    return replayed
