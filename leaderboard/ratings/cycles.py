"""How far results are from an order: circular triads, and a cycle of players each of whom beats the next."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leaderboard.ratings.connectivity import bits, members
from leaderboard.ratings.davidson import Floats
from leaderboard.scoring.intervals import ENDS, normal_quantile


class CycleOfPlayers(NamedTuple):
    """What `find_cycle` finds."""

    players: tuple[int, ...]
    """Each significantly beats the next, and the last the first; from the least; empty when there is no cycle."""
    share: float
    """Circular triads among those whose three players all met, 0 to 1."""
    triads: int
    """Those whose three players all met."""


def find_cycle(wins: Floats, draws: Floats | None = None) -> CycleOfPlayers:
    """Look for intransitivity.

    Three players that all met are a circular triad if the first won more often against the second than the second
    against the first, the second so against the third, and the third so against the first (Kendall & Babington Smith, On
    the method of paired comparisons, Biometrika 31, 1940). With equally many wins neither is ahead, and the triad is not
    circular.

    The cycle that is named has three players, each of whose leads is significant, and its weakest lead is as strong as
    possible; only where there is none, the shortest longer one. A lead is significant where Wilson's 95 % interval of
    its share of the decided matches (JASA 22, 1927) excludes one half, and as strong as the lower end of that.

    Args:
        wins: how often the row's player beat the column's, shape (players, players).
        draws: draws of the two, symmetric; without them, who only drew counts as not met.
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
    """How many ways of three edges lead back to where they begin."""
    return sum((after[j] & before[i]).bit_count() for i, j in np.argwhere(edges).tolist())


def _wilson(wins: Floats) -> Floats:
    """The lower end of Wilson's interval of each share of the decided matches; 0 where none were decided."""
    z = normal_quantile(ENDS[1])
    decided = wins + wins.T
    among = np.maximum(decided, 1)
    share = wins / among
    around = z * np.sqrt(share * (1 - share) / among + (z / (2 * among)) ** 2)
    low: Floats = np.where(decided > 0, (share + z**2 / (2 * among) - around) / (1 + z**2 / among), 0)
    return low


def _triangle(strength: Floats) -> tuple[int, ...]:
    """The cycle of three significant leads whose weakest is strongest.

    Leads are laid down from the strongest on; the first that closes a cycle is the weakest of the best.
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
    """The shortest cycle; the first of them by where it begins. Nothing where there is none."""
    after = bits(leads)
    best: tuple[int, ...] = ()
    for start in range(len(after)):
        layers, seen = [1 << start], 1 << start
        while layers[-1] and not (best and len(layers) >= len(best)):
            reached = 0
            for player in members(layers[-1]):
                reached |= after[player]
            if reached >> start & 1:
                best = _back(layers, after, start)
                break
            layers.append(reached & ~seen)
            seen |= reached
    return best


def _back(layers: Sequence[int], after: Sequence[int], start: int) -> tuple[int, ...]:
    """A way through the layers that ends where it began."""
    way = [start]
    for layer in reversed(layers[1:]):
        way.append(next(player for player in members(layer) if after[player] >> way[-1] & 1))
    return (start, *reversed(way[1:]))
