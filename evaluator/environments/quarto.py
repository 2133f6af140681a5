"""Quarto, to PettingZoo's interface: whoever completes a line of four pieces that share a property wins.

The 16 pieces are the numbers 0 to 15; each bit is a property that a piece has or lacks. The first player gives the
second a piece; a turn is to place the piece in hand on a free cell and then to give the other player the next one, so
that the same player moves twice in a row. Cells are numbered row by row.

Actions 0 to 15 give that piece, 16 to 31 place the piece in hand on cell 0 to 15. The observation is the same for both:
the 16 cells (-1 where free), then the piece in hand (-1 when one has to be given), and the mask of legal actions.
The winner gets 1 and the other -1; a full board is a draw.
"""

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

PIECES = CELLS = 16
NOTHING = -1
_HAND = CELLS  # where an observation shows the piece in hand
_PROPERTIES = tuple(1 << bit for bit in range(4))
_ROWS_OF_CELLS = [range(first, first + 4) for first in range(0, CELLS, 4)]
_LINES = [*_ROWS_OF_CELLS, *zip(*_ROWS_OF_CELLS, strict=True), range(0, 16, 5), range(3, 13, 3)]
# For each cell the lines through it, as sets of cells in the bits of a number.
_LINES_THROUGH = [tuple(sum(1 << c for c in line) for line in _LINES if cell in line) for cell in range(CELLS)]


class QuartoEnv(AECEnv[str, dict[str, NDArray[np.int8]], int | None]):  # type: ignore[misc]  # PettingZoo is untyped
    """The game without guards: an illegal move raises ValueError. `env()` has PettingZoo's guards."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__()
        self.metadata = {"name": "quarto_v0", "render_modes": ["ansi"], "is_parallelizable": False}
        self.render_mode = render_mode
        self.possible_agents = ["player_0", "player_1"]
        self.agents = self.possible_agents[:]
        self._spaces = {agent: (_observation_space(), spaces.Discrete(PIECES + CELLS)) for agent in self.agents}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Cells and hand, and the mask."""
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Give one of 16 pieces, or place on one of 16 cells."""
        return self._spaces[agent][1]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin with an empty board. Nothing here is drawn by lot, so the seed changes nothing."""
        self.agents = self.possible_agents[:]
        self.agent_selection = self.agents[0]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._shown = np.full(CELLS + 1, NOTHING, np.int8)
        self._free_pieces = np.ones(PIECES, np.int8)
        self._free_cells = np.ones(CELLS, np.int8)
        # For each property the cells whose piece has it, and the cells whose piece lacks it.
        self._having = dict.fromkeys(_PROPERTIES, 0)
        self._lacking = dict.fromkeys(_PROPERTIES, 0)

    def observe(self, agent: str) -> dict[str, NDArray[np.int8]]:
        """What `agent` sees; the mask is empty unless it is its turn."""
        mask = np.zeros(PIECES + CELLS, np.int8)
        if agent == self.agent_selection:
            if self._shown[_HAND] == NOTHING:
                mask[:PIECES] = self._free_pieces
            else:
                mask[PIECES:] = self._free_cells
        return {"observation": self._shown.copy(), "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Give a piece, or place the one in hand.

        Raises:
            ValueError: the rules do not allow it.
        """
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        if action is None or not 0 <= action < PIECES + CELLS:
            raise ValueError(f"{action} is no action of Quarto; the actions are 0 to {PIECES + CELLS - 1}")
        self._cumulative_rewards[self.agent_selection] = 0.0
        if action < PIECES:
            self._give(action)
        else:
            self._place(action - PIECES)
        self._accumulate_rewards()

    def _give(self, piece: int) -> None:
        if self._shown[_HAND] != NOTHING or not self._free_pieces[piece]:
            raise ValueError(f"piece {piece} cannot be given now; see 'action_mask'")
        self._free_pieces[piece] = 0
        self._shown[_HAND] = piece
        self.agent_selection = self._other()

    def _place(self, cell: int) -> None:
        piece = int(self._shown[_HAND])
        if piece == NOTHING or not self._free_cells[cell]:
            raise ValueError(f"nothing can be placed on cell {cell} now; see 'action_mask'")
        self._free_cells[cell] = 0
        self._shown[cell] = piece
        self._shown[_HAND] = NOTHING
        if self._completes(piece, cell):
            self.rewards = {self.agent_selection: 1.0, self._other(): -1.0}
        elif self._free_cells.any():
            return
        self.terminations = dict.fromkeys(self.agents, True)
        self.agent_selection = self._other()

    def _completes(self, piece: int, cell: int) -> bool:
        won = False
        for which in _PROPERTIES:
            sharing = self._having if piece & which else self._lacking
            cells = sharing[which] = sharing[which] | 1 << cell
            won = won or any(cells & line == line for line in _LINES_THROUGH[cell])
        return won

    def _other(self) -> str:
        first, second = self.possible_agents
        return second if self.agent_selection == first else first

    def render(self) -> str:
        """The board as text: each piece as its four bits."""
        words = ["····" if piece == NOTHING else f"{piece:04b}" for piece in self._shown.tolist()]
        rows = [" ".join(words[cells.start : cells.stop]) for cells in _ROWS_OF_CELLS]
        return "\n".join([*rows, f"in hand: {words[_HAND]}"])

    def close(self) -> None:
        """Nothing is open."""


def _observation_space() -> spaces.Dict:
    shown = spaces.Box(NOTHING, PIECES - 1, (CELLS + 1,), np.int8)
    return spaces.Dict({"observation": shown, "action_mask": spaces.Box(0, 1, (PIECES + CELLS,), np.int8)})


def raw_env(render_mode: str | None = None) -> QuartoEnv:
    """The game alone."""
    return QuartoEnv(render_mode)


def env(render_mode: str | None = None) -> AECEnv[str, dict[str, NDArray[np.int8]], int | None]:
    """The game in PettingZoo's guards: an illegal move loses, calls out of order are told."""
    guarded = wrappers.TerminateIllegalWrapper(raw_env(render_mode), illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(guarded))
