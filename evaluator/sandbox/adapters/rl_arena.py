"""Runs a player of rl-arena: `class Player` with start, step and end, on that system's states and action numbers.

Its games are tic-tac-toe, Connect Four and Quarto. A player is made anew for each match, which the arena does not do.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from evaluator import wire
from evaluator.sandbox.load_agent import AgentError

CELLS = PIECES = 16
# The piece that the arena hands over before the first move.
FIRST_PIECE = 15
# What the arena pays for a game of Quarto; for the others it is 1, as here.
QUARTO_REWARD = 100
Ask = Callable[[Any, Any], Any]


class Stones:
    """Tic-tac-toe and Connect Four: the cells as 1 for who began and -1 for the other, then whose turn it is."""

    def __init__(self) -> None:
        self._own = 1

    def move(self, seen: Any, mask: Any, ask: Ask) -> Any:
        """The player's move; its numbers are the game's own."""
        mine, theirs = _planes(seen)
        self._own = 1 if mine.sum() == theirs.sum() else -1
        return ask(np.append(self._own * (mine - theirs), self._own), np.flatnonzero(mask))

    def last(self, seen: Any, reward: float) -> tuple[Any, float]:
        """The final state, in which the turn has not passed on, and the reward."""
        mine, theirs = _planes(seen)
        board = self._own * (mine - theirs)
        return np.append(board, 1.0 if board.sum() > 0 else -1.0), reward


class Quarto:
    """Quarto, where the arena places and gives in one move, `16 * cell + piece`, and we ask for one after the other."""

    def __init__(self) -> None:
        self._give: int | None = None

    def move(self, seen: Any, mask: Any, ask: Ask) -> Any:
        """Places, and gives at the next question what was chosen with the place."""
        if seen[CELLS] >= 0:
            return self._place(seen, np.flatnonzero(mask), ask)
        if self._give is not None:
            piece, self._give = self._give, None
            return piece
        return self._give_after_opening(seen, np.flatnonzero(mask), ask)

    def _place(self, seen: Any, free: Any, ask: Ask) -> Any:
        if len(free) == 1:  # the arena places the last piece itself
            return int(free[0])
        pieces = np.setdiff1d(np.arange(PIECES), seen)
        action = ask(seen.astype(np.int64), (16 * (free[:, None] - PIECES) + pieces).ravel())
        if not isinstance(action, int):
            return action
        cell, self._give = divmod(action, 16)
        return PIECES + cell

    def _give_after_opening(self, seen: Any, pieces: Any, ask: Ask) -> Any:
        """The place is an opening's, or nobody has placed yet: ask as if one of the pieces there were still in hand.

        Whichever it is, putting it back on its cell leads to the position that is really there.
        """
        placed = np.flatnonzero(seen[:CELLS] >= 0)
        if not len(placed):
            return FIRST_PIECE
        state, cell = seen.astype(np.int64), int(placed[0])
        state[CELLS], state[cell] = state[cell], -1
        action = ask(state, 16 * cell + pieces)
        return action - 16 * cell if isinstance(action, int) else action

    def last(self, seen: Any, reward: float) -> tuple[Any, float]:
        """The final state, with the piece that the player chose in vain if it made the last move, and the reward."""
        state = seen.astype(np.int64)
        state[CELLS] = -1 if self._give is None else self._give
        return state, QUARTO_REWARD * reward


def _planes(seen: Any) -> tuple[Any, Any]:
    """The own stones and the other's, as flat arrays of floats."""
    return seen[..., 0].ravel().astype(float), seen[..., 1].ravel().astype(float)


def _form(observation: Any) -> Stones | Quarto:
    """How the game of this observation is told to the player."""
    shape = np.shape(observation["observation"]) if isinstance(observation, dict) else ()
    if shape in ((3, 3, 2), (6, 7, 2)):
        return Stones()
    if shape == (CELLS + 1,):
        return Quarto()
    message = "the adapter rl-arena plays tic-tac-toe, Connect Four and Quarto; leave this task out of 'tasks'"
    raise AgentError(wire.Trouble.INVALID, message)


def agent(module: ModuleType) -> type:
    """An Agent class around the file's `Player`.

    Raises:
        AgentError: it has none.
    """
    player: Any = getattr(module, "Player", None)
    if not callable(player):
        message = "the file defines no class Player; rl-arena's players are a class of that name with start, step and end"
        raise AgentError(wire.Trouble.INVALID, message)

    class Agent:
        """Asks a Player of its own."""

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
            """One integer, as the arena makes one of what the player returns; what is none is returned as it is."""
            # Before the end there are no rewards in these games.
            move = self._player.step(state, valid_actions, 0) if self._begun else self._player.start(state, valid_actions)
            self._begun = True
            try:
                return int(move)
            except (TypeError, ValueError, OverflowError):
                return move

        def end(self, observation: Any, reward: float) -> None:
            """Tell the player how it ended."""
            # The arena tells it only to players that have moved.
            if self._form is not None and self._begun:
                self._player.end(*self._form.last(observation["observation"], reward))

    return Agent
