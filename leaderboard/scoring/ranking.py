"""Places and rank intervals."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from leaderboard.core.standings import Entry
from leaderboard.scoring.bootstrap import Indices
from leaderboard.scoring.intervals import EstimateArrays
from leaderboard.scoring.significance import Comparison, compare_all

Key = tuple[Any, ...]
"""Parts equal scores: the better one is the smaller."""


class RankInterval(NamedTuple):
    """Where an entry stands."""

    place: int
    """1 + entries that are better: by the score, then by what parts equal scores."""
    rank_low: int
    """1 + entries significantly better."""
    rank_high: int
    """N − entries significantly worse."""
    with_leader: bool
    """Not told apart from the leader; where several share the first place, from at least one of them."""


def rank_intervals(
    measured: EstimateArrays, ties: Sequence[Key] = (), compared: Comparison | None = None
) -> list[RankInterval]:
    """The rank of every entry, in the order given; the rank interval always holds the place.

    Each pair is judged at 95 %, without a correction for the number of pairs. Entries without a score (NaN) stand behind
    all that have one.

    Args:
        measured: such that greater is better.
        ties: what parts equal scores, for each entry; nothing does when left out.
        compared: who is better than whom, where that is known better than from single scores.
    """
    missing = np.isnan(measured.score)
    if not missing.any():
        return _scored(measured, ties, compared)
    there, gone = np.flatnonzero(~missing), np.flatnonzero(missing)
    found = dict(
        zip(there.tolist(), _scored(EstimateArrays(*(one[there] for one in measured)), _of(ties, there)), strict=True)
    )
    places = _places([(0, *key) for key in _of(ties, gone)] or [(0,)] * len(gone))
    for index, place in zip(gone.tolist(), places, strict=True):
        found[index] = RankInterval(len(there) + place, len(there) + 1, len(missing), with_leader=False)
    return [found[index] for index in range(len(missing))]


def ranks_beside(
    measured: EstimateArrays,
    aside: Sequence[bool],
    ties: Sequence[Key] = (),
    compared: Callable[[Sequence[int]], Comparison | None] = lambda chosen: None,
) -> list[RankInterval]:
    """Ranks where some are listed without a place of their own: they take none, and their place says where they would be.

    Args:
        measured: such that greater is better.
        aside: who has no place of its own.
        ties: what parts equal scores.
        compared: of the entries at these positions, who is better than whom, where that is known better.
    """
    whole = rank_intervals(measured, ties, compared(range(len(aside))))
    inside = np.flatnonzero(~np.asarray(aside, dtype=np.bool_))
    if len(inside) == len(aside):
        return whole
    own: list[RankInterval] = []
    if len(inside):
        own = rank_intervals(
            EstimateArrays(*(one[inside] for one in measured)), _of(ties, inside), compared(inside.tolist())
        )
    found = dict(zip(inside.tolist(), own, strict=True))
    better = sorted(whole[index].place for index in inside.tolist())
    return [found.get(index) or _beside(rank, 1 + bisect_left(better, rank.place)) for index, rank in enumerate(whole)]


def _beside(rank: RankInterval, place: int) -> RankInterval:
    return rank._replace(place=place, rank_low=place, rank_high=place, with_leader=False)


def _scored(measured: EstimateArrays, ties: Sequence[Key], compared: Comparison | None = None) -> list[RankInterval]:
    count = len(measured.score)
    compared = compared or compare_all(measured)
    if ties:
        place = np.array(_places([(-score, *key) for score, key in zip(measured.score.tolist(), ties, strict=True)]))
    else:
        place = 1 + count - np.searchsorted(np.sort(measured.score), measured.score, side="right")
    low = np.minimum(1 + compared.better, place)
    high = np.maximum(count - compared.worse, place)
    columns = (place.tolist(), low.tolist(), high.tolist(), compared.with_leader.tolist())
    return [RankInterval(*one) for one in zip(*columns, strict=True)]


def _of(ties: Sequence[Key], chosen: Indices) -> list[Key]:
    return [ties[index] for index in chosen] if ties else []


def _places(keys: Sequence[Key]) -> list[int]:
    ordered = sorted(keys)
    return [1 + bisect_left(ordered, key) for key in keys]


def name_order(entry: Entry) -> tuple[str, ...]:
    """A sort key: by login and agent, capitals aside; the rest decides only between equal names."""
    return (entry.login.casefold(), entry.agent, entry.login, entry.digest)
