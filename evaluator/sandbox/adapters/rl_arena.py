"""Adapter for players of rl-arena: `class Player` with start, step and end, with its states and action numbers.

Its games are tic-tac-toe, Connect Four and Quarto. Unlike in the arena, each match has a new player.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from evaluator import wire
from evaluator.sandbox.load_agent import AgentError

QUARTO_CELLS = QUARTO_PIECES = 16
# The piece that the arena gives before the first move.
FIRST_PIECE = 15
# The arena's reward for winning Quarto; for the other games it is 1, as here.
QUARTO_REWARD = 100
AskPlayer = Callable[[Any, Any], Any]


class Stones:
    """Tic-tac-toe and Connect Four: cells with 1 for the player who began and -1 for the other, then whose turn it is."""

    def __init__(self) -> None:
        self._own = 1

    def move(self, seen: Any, mask: Any, ask: AskPlayer) -> Any:
        """The player's move, in the game's own numbers."""
        mine, theirs = _planes(seen)
        self._own = 1 if mine.sum() == theirs.sum() else -1
        return ask(np.append(self._own * (mine - theirs), self._own), np.flatnonzero(mask))

    def last(self, seen: Any, reward: float) -> tuple[Any, float]:
        """The final state, in which the turn has not passed, and the reward."""
        mine, theirs = _planes(seen)
        board = self._own * (mine - theirs)
        return np.append(board, 1.0 if board.sum() > 0 else -1.0), reward


class Quarto:
    """Quarto: one move of the arena, `16 * cell + piece`, is two here: placing a piece and giving the next."""

    def __init__(self) -> None:
        self._give: int | None = None

    def move(self, seen: Any, mask: Any, ask: AskPlayer) -> Any:
        """Place a piece, or give the piece that was chosen together with the place."""
        if seen[QUARTO_CELLS] >= 0:
            return self._place(seen, np.flatnonzero(mask), ask)
        if self._give is not None:
            piece, self._give = self._give, None
            return piece
        return self._give_after_opening(seen, np.flatnonzero(mask), ask)

    def _place(self, seen: Any, free: Any, ask: AskPlayer) -> Any:
        if len(free) == 1:  # the arena places the last piece itself
            return int(free[0])
        pieces = np.setdiff1d(np.arange(QUARTO_PIECES), seen)
        action = ask(seen.astype(np.int64), (16 * (free[:, None] - QUARTO_PIECES) + pieces).ravel())
        if not isinstance(action, int):
            return action
        cell, self._give = divmod(action, 16)
        return QUARTO_PIECES + cell

    def _give_after_opening(self, seen: Any, pieces: Any, ask: AskPlayer) -> Any:
        """Give a piece where the player did not place the last one: take a placed piece back into the hand, and ask.

        Whichever piece it is, placing it on its cell again leads to the real position.
        """
        placed = np.flatnonzero(seen[:QUARTO_CELLS] >= 0)
        if not len(placed):
            return FIRST_PIECE
        state, cell = seen.astype(np.int64), int(placed[0])
        state[QUARTO_CELLS], state[cell] = state[cell], -1
        action = ask(state, 16 * cell + pieces)
        return action - 16 * cell if isinstance(action, int) else action

    def last(self, seen: Any, reward: float) -> tuple[Any, float]:
        """The final state, with the piece that the player chose last if it made the last move, and the reward."""
        state = seen.astype(np.int64)
        state[QUARTO_CELLS] = -1 if self._give is None else self._give
        return state, QUARTO_REWARD * reward


def _planes(seen: Any) -> tuple[Any, Any]:
    """The player's stones and the other's, as flat arrays of floats."""
    return seen[..., 0].ravel().astype(float), seen[..., 1].ravel().astype(float)


def _form(observation: Any) -> Stones | Quarto:
    shape = np.shape(observation["observation"]) if isinstance(observation, dict) else ()
    if shape in ((3, 3, 2), (6, 7, 2)):
        return Stones()
    if shape == (QUARTO_CELLS + 1,):
        return Quarto()
    message = "the adapter rl-arena plays tic-tac-toe, Connect Four and Quarto; leave this task out of 'tasks'"
    raise AgentError(wire.ErrorReason.INVALID, message)


def agent(module: ModuleType) -> type:
    """An Agent class around the file's `Player`; raises AgentError where it has none."""
    player: Any = getattr(module, "Player", None)
    if not callable(player):
        message = "the file defines no class Player; rl-arena's players are a class of that name with start, step and end"
        raise AgentError(wire.ErrorReason.INVALID, message)

    class Agent:
        """Calls its own Player."""

        def __init__(self) -> None:
            self._player = player(False)
            self._form: Stones | Quarto | None = None
            self._begun = False

        def act(self, observation: Any) -> Any:
            """The player's move, in our numbers."""
            if self._form is None:
                self._form = _form(observation)
            return self._form.move(observation["observation"], observation["action_mask"], self._ask)

        def _ask(self, state: Any, valid_actions: Any) -> Any:
            """The player's answer as an integer, as the arena converts it; unchanged if it is no integer."""
            # In these games there are no rewards before the end.
            move = self._player.step(state, valid_actions, 0) if self._begun else self._player.start(state, valid_actions)
            self._begun = True
            try:
                return int(move)
            except (TypeError, ValueError, OverflowError):
                return move

        def end(self, observation: Any, reward: float) -> None:
            """Tell the player how the match ended."""
            # As in the arena, only players that have moved are told.
            if self._form is not None and self._begun:
                self._player.end(*self._form.last(observation["observation"], reward))

    return Agent
