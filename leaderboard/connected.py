"""Who can be compared with whom: whether the likelihood of the ratings has a maximum."""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from leaderboard.davidson import Floats, Indices, Matches


def core_of(matches: Matches, players: int, anchor: int) -> Indices:
    """The most players each of whom can be reached from each other over "beat or drew", ascending.

    Among equally many: those with the anchor, else those with the most matches, else those with the first player.
    """
    won = matches.wins_a + matches.draws > 0
    lost = matches.wins_b + matches.draws > 0
    part, size = _parts(_graph(matches, players, np.where(won, 1.0, 0.0), np.where(lost, 1.0, 0.0)))
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
    _, size = _parts(_graph(matches, players, np.where(won, 1.0, 0.0), np.where(lost, 1.0, 0.0)))
    if size.max() > 1:
        return True
    drawn = np.where(matches.draws > 0, 1.0, 0.0)
    lengths = _graph(matches, players, np.where(won, -1.0, drawn), np.where(lost, -1.0, drawn))
    try:
        csgraph.bellman_ford(lengths, indices=int(matches.a[0]))
    except csgraph.NegativeCycleError:
        return True
    return False


def _graph(matches: Matches, players: int, there: Floats, back: Floats) -> sparse.csr_array:
    """An edge from a to b of length `there` and one from b to a of length `back`; 0 is none."""
    begin, end = np.append(matches.a, matches.b), np.append(matches.b, matches.a)
    graph = sparse.csr_array((np.append(there, back), (begin, end)), shape=(players, players))
    graph.eliminate_zeros()
    return graph


def _parts(graph: sparse.csr_array) -> tuple[Indices, Indices]:
    """Strongly connected parts: the part of each player, and the size of each part."""
    _, part = csgraph.connected_components(graph, directed=True, connection="strong")
    return part.astype(np.intp), np.bincount(part)
