"""How far results are from an order: circular triads, and cycles of players each of whom beats the next."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leaderboard.ratings.connectivity import bits, members
from leaderboard.scoring.bootstrap import Floats
from leaderboard.scoring.intervals import ENDS, normal_quantile


class CycleOfPlayers(NamedTuple):
    """As `PreferenceCycle`, by position."""

    players: tuple[int, ...]
    """The lowest position first."""
    share: float
    triads: int


def find_cycle(wins: Floats, draws: Floats | None = None) -> CycleOfPlayers:
    """Measure intransitivity.

    Three players that all met are a circular triad if each won more matches against the next than it lost to it (Kendall
    & Babington Smith, On the method of paired comparisons, Biometrika 31, 1940). With equally many wins neither is ahead,
    and the triad is not circular.

    The cycle returned has three players with significant leads, and its weakest lead is as strong as possible; if there
    is none, it is the shortest longer cycle. A lead is significant if Wilson's 95 % interval of its share of the decided
    matches (JASA 22, 1927) excludes one half; its strength is the lower end of that interval.

    Args:
        wins: how often the row's player beat the column's, shape (players, players).
        draws: draws of the two, symmetric; without it, players that only drew count as not having met.
    """
    met = wins + wins.T + (0 if draws is None else draws + draws.T) > 0
    np.fill_diagonal(met, val=False)
    triads = _closed(bits(met), bits(met), met) // 6
    ahead = wins > wins.T
    circular = _closed(bits(ahead), bits(ahead.T), ahead) // 3
    strength = _wilson(wins)
    players = _triangle(strength) or _shortest(strength > 0.5)
    first = players.index(min(players)) if players else 0
    return CycleOfPlayers((*players[first:], *players[:first]), circular / triads if triads else 0.0, triads)


def _closed(after: Sequence[int], before: Sequence[int], edges: npt.NDArray[np.bool_]) -> int:
    """The number of closed walks of three edges."""
    return sum((after[j] & before[i]).bit_count() for i, j in np.argwhere(edges).tolist())


def _wilson(wins: Floats) -> Floats:
    """The lower end of Wilson's interval of each share of the decided matches; 0 where none was decided."""
    z = normal_quantile(ENDS[1])
    decided = wins + wins.T
    among = np.maximum(decided, 1)
    share = wins / among
    around = z * np.sqrt(share * (1 - share) / among + (z / (2 * among)) ** 2)
    low: Floats = np.where(decided > 0, (share + z**2 / (2 * among) - around) / (1 + z**2 / among), 0)
    return low


def _triangle(strength: Floats) -> tuple[int, ...]:
    """The cycle of three significant leads whose weakest lead is strongest; empty if there is none.

    Leads are added from the strongest on; the first that closes a cycle is its weakest.
    """
    edges = np.argwhere(strength > 0.5)
    order = np.argsort(-strength[tuple(edges.T)], kind="stable")
    after, before = [0] * len(strength), [0] * len(strength)
    for i, j in edges[order].tolist():
        closing = after[j] & before[i]
        if closing:
            third = max(members(closing), key=lambda k: (min(strength[j, k], strength[k, i]), -k))
            return i, j, third
        after[i] |= 1 << j
        before[j] |= 1 << i
    return ()


def _shortest(leads: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """The shortest cycle, the one with the lowest start among several; empty if there is none."""
    after = bits(leads)
    best: tuple[int, ...] = ()
    for start in range(len(after)):
        layers, seen = [1 << start], 1 << start
        while layers[-1] and not (best and len(layers) >= len(best)):
            reached = 0
            for player in members(layers[-1]):
                reached |= after[player]
            if reached >> start & 1:
                best = _path_back(layers, after, start)
                break
            layers.append(reached & ~seen)
            seen |= reached
    return best


def _path_back(layers: Sequence[int], after: Sequence[int], start: int) -> tuple[int, ...]:
    """A path through the layers that returns to its start."""
    path = [start]
    for layer in reversed(layers[1:]):
        path.append(next(player for player in members(layer) if after[player] >> path[-1] & 1))
    return (start, *reversed(path[1:]))
