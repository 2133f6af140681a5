"""Which players can be compared with each other, so that the likelihood of their ratings has a maximum."""

import numpy as np
import numpy.typing as npt

from leaderboard.ratings.davidson import Matches
from leaderboard.scoring.bootstrap import Indices

Bools = npt.NDArray[np.bool_]


def bits(table: Bools) -> list[int]:
    """Each row as an integer whose bit j is column j: sets of players, which Python intersects fast."""
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(table, axis=1, bitorder="little")]


def members(players: int) -> list[int]:
    """The players of a set, ascending."""
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
    against, order = bits(table.T), _leaving_order(bits(table))
    unseen, number = (1 << len(table)) - 1, 0
    for start in reversed(order):
        if unseen >> start & 1:
            reached = new = 1 << start
            while new:
                near = 0
                for player in members(new):
                    near |= against[player]
                unseen &= ~new
                new = near & unseen
                reached |= new
            part[members(reached)] = number
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
