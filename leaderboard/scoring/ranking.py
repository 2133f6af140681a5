"""Places and rank intervals."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from leaderboard.core.arrays import Indices
from leaderboard.core.entry import Entry, RankedEntry
from leaderboard.scoring.intervals import EstimateArrays
from leaderboard.scoring.significance import Comparison, compare_all

_Row = TypeVar("_Row", bound=RankedEntry)
Key = tuple[Any, ...]
"""A sort key that breaks ties: the better one is the smaller."""


class RankInterval(NamedTuple):
    """An entry's place and rank interval."""

    place: int
    """1 + entries that are better: by the score, then by the tie-breaks."""
    rank_low: int
    """1 + entries significantly better."""
    rank_high: int
    """N − entries significantly worse."""
    with_leader: bool
    """Whether the rank interval begins at 1."""


def rank_intervals(
    measured: EstimateArrays, ties: Sequence[Key] = (), compared: Comparison | None = None
) -> list[RankInterval]:
    """The rank of every entry, in the order given; the rank interval always holds the place.

    The interval of each entry holds at 95 %, not those of all entries at once. Entries without a score (NaN) rank last.

    Args:
        measured: such that greater is better.
        ties: a tie-break for each entry; equal scores share a place if left out.
        compared: a comparison that replaces the one from single scores.
    """
    missing = np.isnan(measured.score)
    if not missing.any():
        return _scored(measured, ties, compared)
    scored, unscored = np.flatnonzero(~missing), np.flatnonzero(missing)
    ranks = dict(zip(scored.tolist(), _scored(chosen_entries(measured, scored), _of(ties, scored)), strict=True))
    places = _places([(0, *key) for key in _of(ties, unscored)] or [(0,)] * len(unscored))
    for index, place in zip(unscored.tolist(), places, strict=True):
        ranks[index] = RankInterval(len(scored) + place, len(scored) + 1, len(missing), with_leader=False)
    return [ranks[index] for index in range(len(missing))]


def ranks_with_unranked(
    unranked: Sequence[bool], rank: Callable[[Sequence[int]], list[RankInterval]]
) -> tuple[list[RankInterval], list[int]]:
    """Rank entries, some of which take no place; theirs is the place they would have.

    Args:
        unranked: whether an entry has no place of its own.
        rank: ranks the entries at some positions among each other.

    Returns:
        The ranks, and each entry's place if all took one: the order of those that would have the same place.
    """
    ranks = rank(list(range(len(unranked))))
    among_all = [each.place for each in ranks]
    inside = [index for index, is_unranked in enumerate(unranked) if not is_unranked]
    if len(inside) == len(unranked):
        return ranks, among_all
    inside_ranks = dict(zip(inside, rank(inside) if inside else [], strict=True))
    better = sorted(ranks[index].place for index in inside)
    places = [1 + bisect_left(better, rank.place) for rank in ranks]
    shown = [
        inside_ranks.get(index) or RankInterval(place, place, place, with_leader=False) for index, place in enumerate(places)
    ]
    return shown, among_all


def chosen_entries(measured: EstimateArrays, positions: Sequence[int] | Indices) -> EstimateArrays:
    """The estimates of the entries at some positions."""
    return EstimateArrays(*(column[positions] for column in measured))


def _scored(measured: EstimateArrays, ties: Sequence[Key], compared: Comparison | None = None) -> list[RankInterval]:
    count = len(measured.score)
    compared = compared or compare_all(measured)
    if ties:
        place = np.array(_places([(-score, *key) for score, key in zip(measured.score.tolist(), ties, strict=True)]))
    else:
        place = 1 + count - np.searchsorted(np.sort(measured.score), measured.score, side="right")
    low = np.minimum(1 + compared.better, place)
    high = np.maximum(count - compared.worse, place)
    columns = (place.tolist(), low.tolist(), high.tolist(), (low == 1).tolist())
    return [RankInterval(*fields) for fields in zip(*columns, strict=True)]


def _of(ties: Sequence[Key], chosen: Indices) -> list[Key]:
    return [ties[index] for index in chosen] if ties else []


def _places(keys: Sequence[Key]) -> list[int]:
    ordered = sorted(keys)
    return [1 + bisect_left(ordered, key) for key in keys]


def name_order(entry: Entry) -> tuple[str, ...]:
    """A sort key: by login, ignoring case, and agent; login as written and digest decide between equal names."""
    return (entry.login.casefold(), entry.agent, entry.login, entry.digest)


def in_order(rows: Sequence[_Row], among_all: Sequence[int], since: Sequence[str]) -> tuple[_Row, ...]:
    """Rows by place, then the earlier entry first, then by name; those whose place another version holds come last.

    Args:
        rows: in any order.
        among_all: the place of each if all took one.
        since: when the score of each was complete, in UTC.
    """

    def key(numbered: tuple[int, _Row]) -> Key:
        index, row = numbered
        placed = row.superseded_by is not None, row.place, not row.is_unranked
        return *placed, among_all[index], since[index], name_order(row.entry)

    return tuple(row for _, row in sorted(enumerate(rows), key=key))
