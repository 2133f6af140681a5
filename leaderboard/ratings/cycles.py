"""How far results are from an order: circular triads, and cycles of players each of whom beats the next."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leaderboard.ratings.connectivity import bits, members
from leaderboard.scoring.bootstrap import Floats
from leaderboard.scoring.intervals import CONFIDENCE


class CycleOfPlayers(NamedTuple):
    """As `PreferenceCycle`, by position."""

    players: tuple[int, ...]
    """The lowest position first."""
    share: float
    triads: int


def find_cycle(wins: Floats, ties: Floats | None = None) -> CycleOfPlayers:
    """Measure intransitivity.

    Three players that all met are a circular triad if each won more matches against the next than it lost to it (Kendall
    & Babington Smith, On the method of paired comparisons, Biometrika 31, 1940). With equally many wins neither is ahead,
    and the triad is not circular.

    The cycle returned has three players with significant leads, and its weakest lead is as clear as possible; if there is
    none, it is the shortest longer cycle. A lead is significant if a fair coin would give it, in the decided matches of the
    two, with a probability of at most 5 % divided by the number of pairs (the sign test; Dunn, Multiple comparisons among
    means, JASA 56, 1961). If there is an order such that nobody beats an earlier player more often than not, every cycle
    has a lead against it, and each pair can have only one; so a cycle is returned in at most 5 % of such tables.

    Args:
        wins: how often the row's player beat the column's, shape (players, players).
        ties: ties of the two, symmetric; without it, players that only drew count as not having met.
    """
    met = wins + wins.T + (0 if ties is None else ties + ties.T) > 0
    np.fill_diagonal(met, val=False)
    triads = _closed(bits(met), bits(met), met) // 6
    ahead = wins > wins.T
    circular = _closed(bits(ahead), bits(ahead.T), ahead) // 3
    chance = _sign_test(wins)
    leads = chance <= (1 - CONFIDENCE) / max(int(np.count_nonzero(np.triu(wins + wins.T))), 1)
    players = _triangle(chance, leads) or _shortest(leads)
    first = players.index(min(players)) if players else 0
    return CycleOfPlayers((*players[first:], *players[:first]), circular / triads if triads else 0.0, triads)


def _closed(after: Sequence[int], before: Sequence[int], edges: npt.NDArray[np.bool_]) -> int:
    """The number of closed walks of three edges."""
    return sum((after[j] & before[i]).bit_count() for i, j in np.argwhere(edges).tolist())


def _sign_test(wins: Floats) -> Floats:
    """The probability that a fair coin gives the row's player at least as many wins; 1 where it has no more than half."""
    chance = np.ones_like(wins)
    won, lost = np.nonzero(wins > wins.T)
    count, decided = wins[won, lost], (wins + wins.T)[won, lost]
    for total in np.unique(decided):
        rows = decided == total
        chance[won[rows], lost[rows]] = _fair_tail(int(total))[count[rows].astype(np.intp)]
    return chance


def _fair_tail(tosses: int) -> Floats:
    """The probability of at least 0, 1, …, `tosses` heads."""
    heads = np.arange(1, tosses + 1)
    exactly = np.exp(np.concatenate([[0.0], np.cumsum(np.log((tosses + 1 - heads) / heads))]) - tosses * np.log(2))
    tail: Floats = np.cumsum(exactly[::-1])[::-1]
    return tail


def _triangle(chance: Floats, leads: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """The cycle of three significant leads whose weakest lead is clearest; empty if there is none.

    Leads are added from the clearest on; the first that closes a cycle is its weakest.
    """
    edges = np.argwhere(leads)
    order = np.argsort(chance[tuple(edges.T)], kind="stable")
    after, before = [0] * len(leads), [0] * len(leads)
    for i, j in edges[order].tolist():
        closing = after[j] & before[i]
        if closing:
            third = min(members(closing), key=lambda k: (max(chance[j, k], chance[k, i]), k))
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
