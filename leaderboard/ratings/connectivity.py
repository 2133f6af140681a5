"""Who can be compared with whom: whether the likelihood of the ratings has a maximum."""

import numpy as np
import numpy.typing as npt

from leaderboard.ratings.davidson import Indices, Matches

Table = npt.NDArray[np.bool_]


def bits(table: Table) -> list[int]:
    """Each row as an integer, whose bit j is column j: sets of players, of which Python intersects millions a second."""
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(table, axis=1, bitorder="little")]


def members(players: int) -> list[int]:
    """The players of a set, ascending."""
    found = []
    while players:
        least = players & -players
        found.append(least.bit_length() - 1)
        players ^= least
    return found


def strong_parts(table: Table) -> Indices:
    """The strongly connected part of each player, numbered from 0.

    By Kosaraju's algorithm (Aho, Hopcroft & Ullman, Data Structures and Algorithms, 1983, 6.7): whoever is left last in a
    search along the edges begins a part, and whoever is still reached against the edges belongs to it.

    Args:
        table: whether there is an edge from the row's player to the column's.
    """
    part = np.empty(len(table), dtype=np.intp)
    against, left = bits(table.T), _left(bits(table))
    unseen, number = (1 << len(table)) - 1, 0
    for start in reversed(left):
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


def _left(after: list[int]) -> list[int]:
    """The players in the order in which a depth-first search leaves them."""
    left, unseen = [], (1 << len(after)) - 1
    for start in range(len(after)):
        trail = [start] if unseen >> start & 1 else []
        unseen &= ~(1 << start)
        while trail:
            new = after[trail[-1]] & unseen
            if new:
                unseen &= ~(new & -new)
                trail.append((new & -new).bit_length() - 1)
            else:
                left.append(trail.pop())
    return left


def is_below_zero_somewhere(begin: Indices, end: Indices, length: Indices, players: int) -> bool:
    """Whether the lengths of some way round add up to less than 0 (Bellman, On a routing problem, 1958).

    Args:
        begin: where each edge begins.
        end: where it ends.
        length: its length, a whole number.
        players: how many there are.
    """
    order = np.argsort(end, kind="stable")
    begin, length = begin[order], length[order]
    ends, first = np.unique(end[order], return_index=True)
    # From anywhere, over at most as many edges as there were rounds.
    distance = np.zeros(players, dtype=np.intp)
    for _ in range(players):
        nearer = np.minimum(distance[ends], np.minimum.reduceat(distance[begin] + length, first))
        if (nearer == distance[ends]).all():
            return False
        distance[ends] = nearer
    return True


def core_of(matches: Matches, players: int, anchor: int) -> Indices:
    """The most players each of whom can be reached from each other over "beat or drew", ascending.

    Among equally many: those with the anchor, else those with the most matches, else those with the first player.
    """
    won = matches.wins_a + matches.draws > 0
    lost = matches.wins_b + matches.draws > 0
    part = strong_parts(_table(matches, players, won, lost))
    size = np.bincount(part)
    inner = matches.where(part[matches.a] == part[matches.b])
    played = np.bincount(part[inner.a], inner.total, len(size))
    member = int(np.lexsort((np.arange(players), -played[part], np.arange(players) != anchor, -size[part]))[0])
    return np.flatnonzero(part == part[member])


def bounds_draws(matches: Matches, players: int) -> bool:
    """Whether ν has a maximum: whether some way round leads over more wins than draws.

    Otherwise there are numbers δ with δ_a − δ_b ≥ 1 wherever a beat b and |δ_a − δ_b| ≤ 1 wherever they drew, and
    (θ + 2 t δ, log ν + t) makes what happened the more likely the greater t is. Such numbers are distances over edges of
    length −1 (beat) and 1 (drew), which exist where no way round is shorter than 0 (Bellman, On a routing problem, 1958).

    Args:
        matches: with a draw; their players can be reached from each other.
        players: how many there are; those without matches may be among them.
    """
    won, lost = matches.wins_a > 0, matches.wins_b > 0
    if (won & lost).any():
        return True
    if strong_parts(_table(matches, players, won, lost)).max() < players - 1:
        return True
    drawn = np.flatnonzero(matches.draws > 0)
    begin = np.concatenate([matches.a[won], matches.b[lost], matches.a[drawn], matches.b[drawn]])
    end = np.concatenate([matches.b[won], matches.a[lost], matches.b[drawn], matches.a[drawn]])
    beaten = len(begin) - 2 * len(drawn)
    length = np.repeat([-1, 1], [beaten, 2 * len(drawn)])
    return is_below_zero_somewhere(begin, end, length, players)


def _table(matches: Matches, players: int, there: Table, back: Table) -> Table:
    """The edges from a to b where `there` says so, and from b to a where `back` does."""
    table = np.zeros((players, players), dtype=np.bool_)
    table[matches.a[there], matches.b[there]] = True
    table[matches.b[back], matches.a[back]] = True
    return table
