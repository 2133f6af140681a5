"""Directed graphs of players, small enough for a table: sets of players as bits, parts, and ways round below zero."""

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]


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
