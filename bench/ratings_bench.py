"""How long ratings take: 2,000 players and 1,000,000 matches, as duels of 100 and as a million pairs; and 50 players.

In a duel each side moves first in half of the matches; of the million pairs the first one does.
"""

import json
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from leaderboard.core.arrays import Floats
from leaderboard.ratings.connectivity import find_cycle
from leaderboard.ratings.davidson import chances
from leaderboard.ratings.fit_ratings import fit_ratings

NU = 0.4
GAMMA = 0.3
# Players, opponents of each (None: random pairs, one match each), matches.
SIZES: tuple[tuple[int, int | None, int], ...] = ((50, 49, 122_500), (2_000, 10, 1_000_000), (2_000, None, 1_000_000))


def field(players: int, opponents: int | None, matches: int, random: np.random.Generator) -> Floats:
    """Random pairings by Davidson's model, of players with normally distributed strengths: the form of `fit_ratings`."""
    if opponents is None:
        a = random.integers(players, size=matches)
        b = (a + random.integers(1, players, size=matches)) % players
    else:
        a, b = _round(players, opponents)
    roles = [1] if opponents is None else [1, -1]
    each, first = matches // len(a) // len(roles), np.repeat(roles, len(a))
    a, b = np.tile(a, len(roles)), np.tile(b, len(roles))
    theta = random.normal(size=players)
    expected = chances(theta[a] - theta[b] + GAMMA * first, NU)
    win = expected.score - expected.tie / 2
    played = random.multinomial(each, np.stack([win, 1 - win - expected.tie, expected.tie], axis=1))
    return np.column_stack([a, b, played, first]).astype(np.float64)


def _round(players: int, opponents: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Each player against the next ones around a circle, each pair at most once."""
    reach = np.arange(1, opponents // 2 + 1)
    a = np.repeat(np.arange(players), len(reach))
    b = (a + np.tile(reach, players)) % players
    if opponents % 2:
        half = np.arange(players // 2)
        a, b = np.append(a, half), np.append(b, half + players // 2)
    return a, b


def run() -> dict[str, Any]:
    """Time `fit_ratings` and `find_cycle`.

    Returns:
        For each field its size, the seconds of wall and of processor time that ratings took, and those of the cycle measure.
    """
    timings = []
    for players, opponents, matches in SIZES:
        pairings = field(players, opponents, matches, np.random.default_rng(1))
        wins = np.zeros((players, players))
        np.add.at(wins, (pairings[:, 0].astype(int), pairings[:, 1].astype(int)), pairings[:, 2])
        np.add.at(wins, (pairings[:, 1].astype(int), pairings[:, 0].astype(int)), pairings[:, 3])
        begun, spent = time.perf_counter(), time.process_time()
        fit_ratings(pairings, players, 0)
        rated, cpu = time.perf_counter(), time.process_time() - spent
        find_cycle(wins)
        ended = time.perf_counter()
        timings.append(
            {
                "players": players,
                "matches": int(pairings[:, 2:5].sum()),
                "pairings": int((pairings[:, 5] == 1).sum()),
                "seconds": round(rated - begun, 3),
                "cpu_seconds": round(cpu, 3),
                "cycle_seconds": round(ended - rated, 3),
            }
        )
    return {"ratings": timings}


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
