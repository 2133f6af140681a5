"""How often the intervals of ratings, rank intervals and named cycles are right, in simulated boards with fixed seeds.

All boards go through `fit_ratings` and `find_cycle`, as recorded duels do. Two players meet in one duel, and each side moves
first in half of its matches. All pairs meet, but for `lot_rows`, where the planning of the official run draws them.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from bench.coverage_row import CoverageRow
from leaderboard.core.arrays import Floats, Indices
from leaderboard.planning.opponents import PlayerTable, draw_opponents
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
LOT_PLAYERS, LOT_OPPONENTS, ARRIVING_AT_ONCE = 40, 20, 4
# Boards are drawn in blocks of this many, to save memory.
BOARDS_AT_ONCE = 100


def simulate_boards(strengths: Floats, advantage: float, boards: int, seed: int) -> Iterator[Floats]:
    """Duels of all pairs in the form of `fit_ratings`, a board at a time; strengths and advantage are in Elo."""
    random = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(len(strengths)), 2)))
    for start in range(0, boards, BOARDS_AT_ONCE):
        yield from _played(random, strengths, advantage, pairs, min(BOARDS_AT_ONCE, boards - start))


def _played(random: np.random.Generator, strengths: Floats, advantage: float, pairs: Indices, boards: int) -> Floats:
    """Duels of some pairs, on several boards, shape (boards, rows, columns of `fit_ratings`)."""
    first = np.repeat([1, -1], len(pairs))
    pairs = np.tile(pairs, (2, 1))
    expected = chances((strengths[pairs[:, 0]] - strengths[pairs[:, 1]] + advantage * first) / ELO_SCALE, NU)
    win = expected.score - expected.tie / 2
    outcomes = np.stack([win, 1 - win - expected.tie, expected.tie], axis=1)
    results = random.multinomial(MATCHES // 2, outcomes, size=(boards, len(pairs)))
    return np.stack([np.column_stack([pairs, played, first]) for played in results]).astype(np.float64)


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
    return _equal_rows(_fits(np.zeros(players), 0, boards, seed=players), f"{players} equal players")


def lot_rows(boards: int) -> list[CoverageRow]:
    """The same where a player meets only some of the others, drawn when it arrives, and the ratings are known by then."""
    random = np.random.default_rng(LOT_PLAYERS)
    named = f"{LOT_PLAYERS} equal players who each meet {LOT_OPPONENTS} by lot"
    return _equal_rows([_fit_of_arrivals(random) for _ in range(boards)], named)


def _fit_of_arrivals(random: np.random.Generator) -> Ratings:
    """The ratings after the last have arrived; each time everybody who lacks opponents draws them."""
    met, theta = np.zeros((0, 0), dtype=np.bool_), np.zeros(0)
    rows = np.zeros((0, 6))
    lots = [(random.bytes(20).hex(), random.bytes(32).hex()) for _ in range(LOT_PLAYERS)]
    for count in range(ARRIVING_AT_ONCE, LOT_PLAYERS + 1, ARRIVING_AT_ONCE):
        before = np.pad(met, (0, count - len(met)))
        table = PlayerTable(
            met=before.copy(), barred=np.eye(count, dtype=np.bool_), changes_ratings=np.ones(count, dtype=np.bool_),
            is_baseline=np.zeros(count, dtype=np.bool_), lots=lots[:count],
            theta=np.pad(theta, (0, count - len(theta)), constant_values=np.nan),
        )  # fmt: skip
        draw_opponents(table, LOT_OPPONENTS)
        met = table.met
        rows = np.concatenate([rows, *_played(random, np.zeros(count), 0, np.argwhere(np.triu(met & ~before)), 1)])
        ratings = fit_ratings(rows, count, 0)
        theta = ratings.theta
    return ratings


def _equal_rows(fits: list[Ratings], named: str) -> list[CoverageRow]:
    players = len(fits[0].theta)
    orders = [rating_order(fit.theta, fit.covariance, np.ones(players, np.intp)) for fit in fits]
    low, high = np.array([order.rank_low for order in orders]), np.array([order.rank_high for order in orders])
    whole = 100 * float(((low == 1) & (high == players)).mean())
    leading = 100 * float(np.mean([order.with_leader for order in orders]))
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
    return [*ratings, *ranks, *lot_rows(boards), cycle_row(boards)]


if __name__ == "__main__":
    for row in rows(10_000):
        print(f"{row.measured:6.1f} {row.unit:3}  {row.target:>5}  {row.width:>9}  {row.case}")
