"""Who can be compared with whom: whether the likelihood of the ratings has a maximum."""

import numpy as np

from leaderboard.davidson import Indices, Matches
from leaderboard.graphs import Table, is_below_zero_somewhere, strong_parts


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
