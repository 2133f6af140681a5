"""The openings of a duel's matches: the random moves that its seeds give, before the players move."""

from collections.abc import Sequence

import numpy as np

from evaluator.host.envs.pettingzoo_game import GamePosition, PettingZooGame

MAX_OPENING_DRAWS = 100
_SALT = 0x6F70656E


def draw_openings(game: PettingZooGame, seeds: Sequence[str]) -> list[list[int]]:
    """The opening moves of each pair of matches, drawn uniformly among the legal ones.

    An opening that ends the game, or that an earlier pair of the duel has, is drawn again.
    """
    drawn: list[list[int]] = []
    for seed in seeds:
        tree = _OpeningTree(game, seed)
        generator = np.random.default_rng([int(seed, 16), _SALT])
        for _ in range(MAX_OPENING_DRAWS if game.task.opening else 1):
            opening: list[int] = []
            while len(opening) < game.task.opening and (legal := tree.legal(opening)):
                opening.append(legal[int(generator.integers(len(legal)))])
            if opening not in drawn and tree.legal(opening):
                break
        drawn.append(opening)
    return drawn


class _OpeningTree:
    """Legal moves after the first moves of a game, each computed once."""

    def __init__(self, game: PettingZooGame, seed: str) -> None:
        self._game, self._seed = game, seed
        self._legal: dict[tuple[int, ...], list[int]] = {}
        self._position: GamePosition | None = None
        self._played: list[int] = []

    def legal(self, moves: list[int]) -> list[int]:
        """The legal moves after these moves; none where the game is over."""
        key = tuple(moves)
        if key not in self._legal:
            if self._position is None or self._played != moves[:-1]:
                self._position = self._game.start(self._seed)
                for move in moves[:-1]:
                    self._position.play(move)
            if moves:
                self._position.play(moves[-1])
            self._played = list(moves)
            self._legal[key] = [] if self._position.over else self._game.legal(self._position.observe())
        return self._legal[key]
