"""Places and rank intervals."""

from typing import NamedTuple

import numpy as np

from leaderboard.estimate import Estimates
from leaderboard.significance import compare
from leaderboard.standings import Entry


class Rank(NamedTuple):
    """Where an entry stands."""

    place: int
    """1 + entries with a higher score."""
    rank_low: int
    """1 + entries significantly better."""
    rank_high: int
    """N − entries significantly worse."""
    with_leader: bool
    """Not told apart from the leader; where several share the first place, from at least one of them."""


def ranks(measured: Estimates) -> list[Rank]:
    """The rank of every entry, in the order given; the rank interval always holds the place.

    Each pair is judged at 95 %, without a correction for the number of pairs.
    """
    count = len(measured.score)
    compared = compare(measured)
    place = 1 + count - np.searchsorted(np.sort(measured.score), measured.score, side="right")
    low = np.minimum(1 + compared.better, place)
    high = np.maximum(count - compared.worse, place)
    columns = (place.tolist(), low.tolist(), high.tolist(), compared.with_leader.tolist())
    return [Rank(*one) for one in zip(*columns, strict=True)]


def name_order(entry: Entry) -> tuple[str, ...]:
    """A sort key: by login and agent, capitals aside; the rest decides only between equal names."""
    return (entry.login.casefold(), entry.agent, entry.login, entry.digest)
