"""How often the intervals of ratings, rank intervals and named cycles are right, in simulated boards with fixed seeds.

All boards go through `fit_ratings` and `find_cycle`, as recorded duels do. Each pair of players meets in one duel, and each
side moves first in half of its matches.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from bench.coverage_row import CoverageRow
from leaderboard.core.arrays import Floats
from leaderboard.ratings.connectivity import find_cycle
from leaderboard.ratings.davidson import chances
from leaderboard.ratings.fit_ratings import ELO_SCALE, Ratings, fit_ratings, rating_order

NU = 0.4
MATCHES = 100
# Strengths of the players whose ratings are compared with the truth, in Elo.
STRENGTHS = np.linspace(0, 700, 8)
ADVANTAGES = (0, 200, 400)
EQUAL_PLAYERS = (8, 20, 50)
CYCLE_PLAYERS = 21
# Boards are drawn in blocks of this many, to save memory.
BOARDS_AT_ONCE = 100


def simulate_boards(strengths: Floats, advantage: float, boards: int, seed: int) -> Iterator[Floats]:
    """Duels of all pairs in the form of `fit_ratings`, a board at a time; strengths and advantage are in Elo."""
    random = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(len(strengths)), 2)))
    first = np.repeat([1, -1], len(pairs))
    pairs = np.tile(pairs, (2, 1))
    expected = chances((strengths[pairs[:, 0]] - strengths[pairs[:, 1]] + advantage * first) / ELO_SCALE, NU)
    win = expected.score - expected.tie / 2
    outcomes = np.stack([win, 1 - win - expected.tie, expected.tie], axis=1)
    for start in range(0, boards, BOARDS_AT_ONCE):
        count = min(BOARDS_AT_ONCE, boards - start)
        for played in random.multinomial(MATCHES // 2, outcomes, size=(count, len(pairs))):
            yield np.column_stack([pairs, played, first]).astype(np.float64)


def _fits(strengths: Floats, advantage: float, boards: int, seed: int) -> list[Ratings]:
    tables = simulate_boards(strengths, advantage, boards, seed)
    return [fit_ratings(table, len(strengths), 0) for table in tables]


def advantage_rows(advantage: int, boards: int) -> list[CoverageRow]:
    """Coverage and bias of the ratings, and coverage of the advantage itself; the weakest player is the anchor."""
    fits = _fits(STRENGTHS, advantage, boards, seed=1977)
    low, elo, high = (np.array([getattr(fit, name)[1:] for fit in fits]) for name in ("low", "elo", "high"))
    truth = STRENGTHS[1:]
    bias = float(np.abs((elo - truth).mean(axis=0)).max())
    within = 100 * float(((low <= truth) & (truth <= high)).mean())
    named = f"moving first worth {advantage} Elo, field 0–700"
    moving = [fit.moving_first for fit in fits if fit.moving_first]
    held = 100 * float(np.mean([first.low <= advantage <= first.high for first in moving])) if moving else 0.0
    wide = f"{np.median([first.high - first.low for first in moving]):.0f} Elo" if moving else ""
    return [
        CoverageRow(f"rating interval, {named}", within, "≥ 93", f"{np.median(high - low):.0f} Elo"),
        CoverageRow(f"rating, largest bias of a player, {named}", bias, "≤ 15", unit="Elo"),
        CoverageRow(f"interval of the advantage, {named}", held, "≥ 93", wide),
    ]


def equal_rows(players: int, boards: int) -> list[CoverageRow]:
    """Rank intervals of equal players: the truth allows every place to each, and each is a best one."""
    fits = _fits(np.zeros(players), 0, boards, seed=players)
    orders = [rating_order(fit.theta, fit.covariance, np.ones(players, np.intp)) for fit in fits]
    low, high = np.array([order.rank_low for order in orders]), np.array([order.rank_high for order in orders])
    whole = 100 * float(((low == 1) & (high == players)).mean())
    leading = 100 * float(np.mean([order.with_leader for order in orders]))
    named = f"{players} equal players"
    places = f"{np.median(high - low + 1):.0f} places"
    return [
        CoverageRow(f"rank interval holds every place, {named}", whole, "≥ 94", places),
        CoverageRow(f"a best player keeps the leader's mark, {named}", leading, "≥ 94"),
    ]


def cycle_row(boards: int) -> CoverageRow:
    """How often equal players seem to have no order."""
    random = np.random.default_rng(CYCLE_PLAYERS)
    named = 0
    for _ in range(boards):
        wins = np.triu(random.binomial(MATCHES, 0.5, (CYCLE_PLAYERS, CYCLE_PLAYERS)), 1)
        wins += np.tril(MATCHES - wins.T, -1)
        named += bool(find_cycle(wins.astype(np.float64)).players)
    return CoverageRow(f"a false cycle among {CYCLE_PLAYERS} equal players", 100 * named / boards, "≤ 5")


def rows(boards: int) -> list[CoverageRow]:
    """All lines, each from this many boards."""
    ratings = [row for advantage in ADVANTAGES for row in advantage_rows(advantage, boards)]
    ranks = [row for players in EQUAL_PLAYERS for row in equal_rows(players, boards)]
    return [*ratings, *ranks, cycle_row(boards)]


if __name__ == "__main__":
    for row in rows(10_000):
        print(f"{row.measured:6.1f} {row.unit:3}  {row.target:>5}  {row.width:>9}  {row.case}")
