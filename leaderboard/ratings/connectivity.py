"""The graph of who beat whom: which players can be compared with each other, and how far results are from an order.

Ratings have a maximum of their likelihood only among players that can be compared. Results that are no order have circular
triads, and cycles of players each of whom beats the next.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leaderboard.core.arrays import Bools, Floats, Indices
from leaderboard.core.entry import CONFIDENCE
from leaderboard.ratings.davidson import Matches


def row_masks(table: Bools) -> list[int]:
    """Each row as an integer whose bit j is column j: a set of players, which Python intersects fast."""
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(table, axis=1, bitorder="little")]


def set_bits(players: int) -> list[int]:
    """The positions of the bits that are set, ascending: the players of a set."""
    positions = []
    while players:
        lowest = players & -players
        positions.append(lowest.bit_length() - 1)
        players ^= lowest
    return positions


def strong_parts(table: Bools) -> Indices:
    """The strongly connected part of each player, numbered from 0.

    By Kosaraju's algorithm (Aho, Hopcroft & Ullman, Data Structures and Algorithms, 1983, 6.7): in reverse order of
    leaving a depth-first search along the edges, each player starts a part, and all players that are still unseen and
    reached against the edges belong to it.

    Args:
        table: whether there is an edge from the row's player to the column's.
    """
    part = np.empty(len(table), dtype=np.intp)
    against, order = row_masks(table.T), _leaving_order(row_masks(table))
    unseen, number = (1 << len(table)) - 1, 0
    for start in reversed(order):
        if unseen >> start & 1:
            reached = new = 1 << start
            while new:
                near = 0
                for player in set_bits(new):
                    near |= against[player]
                unseen &= ~new
                new = near & unseen
                reached |= new
            part[set_bits(reached)] = number
            number += 1
    return part


def _leaving_order(after: list[int]) -> list[int]:
    """The players in the order in which a depth-first search leaves them."""
    order, unseen = [], (1 << len(after)) - 1
    for start in range(len(after)):
        trail = [start] if unseen >> start & 1 else []
        unseen &= ~(1 << start)
        while trail:
            new = after[trail[-1]] & unseen
            if new:
                unseen &= ~(new & -new)
                trail.append((new & -new).bit_length() - 1)
            else:
                order.append(trail.pop())
    return order


def has_negative_cycle(begin: Indices, end: Indices, length: Indices, players: int) -> bool:
    """Whether the edges of some cycle have a total length below 0 (Bellman, On a routing problem, 1958).

    Args:
        begin: the player at which each edge begins.
        end: the player at which it ends.
        length: whole numbers.
        players: the number of players.
    """
    order = np.argsort(end, kind="stable")
    begin, length = begin[order], length[order]
    ends, first = np.unique(end[order], return_index=True)
    # The shortest distance from any player over at most as many edges as rounds so far.
    distance = np.zeros(players, dtype=np.intp)
    for _ in range(players):
        nearer = np.minimum(distance[ends], np.minimum.reduceat(distance[begin] + length, first))
        if (nearer == distance[ends]).all():
            return False
        distance[ends] = nearer
    return True


def core_of(matches: Matches, players: int, anchor: int) -> Indices:
    """The largest set of players that all reach each other over "beat or drew", ascending.

    Among sets of equal size: the one with the anchor, else with the most matches, else with the first player.
    """
    won = matches.wins_a + matches.ties > 0
    lost = matches.wins_b + matches.ties > 0
    part = strong_parts(_edges(matches, players, won, lost))
    size = np.bincount(part)
    inner = matches.where(part[matches.a] == part[matches.b])
    played = np.bincount(part[inner.a], inner.total, len(size))
    member = int(np.lexsort((np.arange(players), -played[part], np.arange(players) != anchor, -size[part]))[0])
    return np.flatnonzero(part == part[member])


def bounds_ties(matches: Matches, players: int) -> bool:
    """Whether the likelihood has a maximum in ν: whether some cycle has more wins than ties.

    Otherwise there are numbers δ with δ_a − δ_b ≥ 1 wherever a beat b and |δ_a − δ_b| ≤ 1 wherever they drew, and the
    likelihood of (θ + 2 t δ, log ν + t) grows with t without end. Such numbers are distances over edges of length −1
    (beat) and 1 (drew), which exist if no cycle is shorter than 0 (Bellman, On a routing problem, 1958).

    Args:
        matches: at least one is a tie, and all their players reach each other.
        players: the number of players, those without matches included.
    """
    won, lost = matches.wins_a > 0, matches.wins_b > 0
    if (won & lost).any():
        return True
    if strong_parts(_edges(matches, players, won, lost)).max() < players - 1:
        return True
    tied = np.flatnonzero(matches.ties > 0)
    begin = np.concatenate([matches.a[won], matches.b[lost], matches.a[tied], matches.b[tied]])
    end = np.concatenate([matches.b[won], matches.a[lost], matches.b[tied], matches.a[tied]])
    beaten = len(begin) - 2 * len(tied)
    length = np.repeat([-1, 1], [beaten, 2 * len(tied)])
    return has_negative_cycle(begin, end, length, players)


def _edges(matches: Matches, players: int, forward: Bools, backward: Bools) -> Bools:
    """A matrix of edges: from a to b where `forward` is set, and from b to a where `backward` is."""
    table = np.zeros((players, players), dtype=np.bool_)
    table[matches.a[forward], matches.b[forward]] = True
    table[matches.b[backward], matches.a[backward]] = True
    return table


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
    triads = _closed(row_masks(met), row_masks(met), met) // 6
    ahead = wins > wins.T
    circular = _closed(row_masks(ahead), row_masks(ahead.T), ahead) // 3
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


def _triangle(chance: Floats, leads: Bools) -> tuple[int, ...]:
    """The cycle of three significant leads whose weakest lead is clearest; empty if there is none.

    Leads are added from the clearest on; the first that closes a cycle is its weakest.
    """
    edges = np.argwhere(leads)
    order = np.argsort(chance[tuple(edges.T)], kind="stable")
    after, before = [0] * len(leads), [0] * len(leads)
    for i, j in edges[order].tolist():
        closing = after[j] & before[i]
        if closing:
            third = min(set_bits(closing), key=lambda k: (max(chance[j, k], chance[k, i]), k))
            return i, j, third
        after[i] |= 1 << j
        before[j] |= 1 << i
    return ()


def _shortest(leads: Bools) -> tuple[int, ...]:
    """The shortest cycle, the one with the lowest start among several; empty if there is none."""
    after = row_masks(leads)
    best: tuple[int, ...] = ()
    for start in range(len(after)):
        layers, seen = [1 << start], 1 << start
        while layers[-1] and not (best and len(layers) >= len(best)):
            reached = 0
            for player in set_bits(layers[-1]):
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
        path.append(next(player for player in set_bits(layer) if after[player] >> path[-1] & 1))
    return (start, *reversed(path[1:]))
