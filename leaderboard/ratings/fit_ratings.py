"""From the duels that count to ratings, with one of the players, the anchor, at 0."""

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evaluator.model.config.task import Task
from leaderboard.core.arrays import Bools, Floats, Indices
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName
from leaderboard.core.game_standings import Rating
from leaderboard.ratings.connectivity import bounds_ties, core_of
from leaderboard.ratings.davidson import Likelihood, Matches, covariance, maximise
from leaderboard.ratings.rated_duels import AgentVersion, CountedDuel, Pair
from leaderboard.scoring.intervals import normal_quantiles, significance_level
from leaderboard.scoring.significance import CriticalValues

# 400 points are odds of ten to one (Elo, The Rating of Chessplayers, 1978).
ELO_SCALE = 400 / np.log(10)
# Ratings that differ by less share a place.
RATING_TOLERANCE = 1e-9
# Pseudo-matches of the prior of γ.
ORDER_PRIOR = 1.0
# Ties against the anchor in the prior of a player that is placed after the core.
PLACEMENT_PRIOR = 1.0
# Players are compared in blocks of this many rows, which stay in the processor's cache.
PLAYERS_AT_ONCE = 64


class PairedTotals(NamedTuple):
    """The matches of two players, by their positions."""

    a: int
    b: int
    wins_a: float
    wins_b: float
    ties: float
    first: int = 0
    """1 where a moved first, −1 where b did, 0 without a first mover."""


class RatingOrder(NamedTuple):
    """The fields of `RankInterval` as arrays by player."""

    place: Indices
    rank_low: Indices
    rank_high: Indices
    with_leader: Bools


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """How strong the players are; every array is by player, of shape (players,) unless it says otherwise."""

    theta: Floats
    """Logarithm of the strength; the anchor's is 0."""
    covariance: Floats
    """Of `theta`, shape (players, players); the anchor's row and column are 0."""
    nu: float
    """How likely ties are: between equals ν : 2; 0 without ties."""
    moving_first: Rating | None
    """What moving first is worth on the Elo scale; None without first movers."""
    elo: Floats
    """`theta` on the Elo scale."""
    low: Floats
    """Ends of the 95 % interval of the difference to the anchor, or of a wider one after several tries."""
    high: Floats
    prior: tuple[int, ...]
    """Players whose rating needs a prior, ascending."""


class _Fit(NamedTuple):
    """Estimates of all strengths, γ and log ν, and their covariance, shape (players + 2,) and (players + 2, players + 2)."""

    point: Floats
    spread: Floats


def fit_ratings(
    pairings: Sequence[PairedTotals] | Floats,
    players: int,
    anchor: int,
    tries: Sequence[int] | None = None,
    passive: Sequence[int] = (),
) -> Ratings:
    """Rate players by their matches against each other.

    Maximum likelihood of Davidson's model with an order effect (`leaderboard/ratings/davidson.py`); theta = log π. The
    maximum exists only among players that all reach each other over "beat or drew" (Ford, Solution of a ranking problem
    from binary comparisons, American Mathematical Monthly 64, 1957). So the largest such set, the core, is fitted alone.
    The other players are placed with the core fixed, each with a prior of one tie against the anchor, or against the
    core's mean if the anchor is not in it: a player that won all its matches is rated, and moves nobody else.

    γ, what moving first is worth, is fitted with the core, and always has a prior of one match between equals, half won
    by each: γ stays finite if the first mover wins every match, or if one of two players always moves first. Because of
    it the rules for the core and for ν need not look at who moved first: a direction in which γ grows is never free.

    With ties this is not enough for ν: if A beats B or ties, and never loses, ν and A's strength grow together without
    end. Then ν has a prior of one decided match between two equals, which affects no strength.

    Passive players are placed last, by their matches against the others, who are fixed by then: they move nobody. One that
    neither won all of these nor lost all has no prior.

    The intervals are Wald's, from the inverse of the information; the core's uncertainty is carried over to the others.

    Args:
        pairings: in any order, as tuples or as an array of shape (pairings, 6). The order changes no bit of the outcome.
        players: the number of players; those without a match are rated by their prior.
        anchor: the player rated 0.
        tries: how many versions each player was chosen from, as in `EstimateArrays`; 1 if left out.
        passive: players whose matches count for themselves alone; not the anchor.
    """
    among = np.ones(players, dtype=np.intp) if tries is None else np.array(tries, dtype=np.intp)
    every, is_passive = _tally(pairings), np.isin(np.arange(players), passive)
    matches = _within(every, ~is_passive)
    core = core_of(matches, players, anchor)
    inside = np.isin(np.arange(players), core)
    core_matches = _within(matches, inside)
    anchored = [anchor] if inside[anchor] else core.tolist()
    nu_prior = bool((core_matches.ties > 0).any()) and not bounds_ties(core_matches, players)
    ordered = bool(matches.first.any())
    fit = _shifted(_fit_core(core_matches, core, players, nu_prior=nu_prior, ordered=ordered), _mean_of(anchored, players))
    priors = np.where(inside | is_passive, 0.0, PLACEMENT_PRIOR)
    if priors.any():
        fit = _shifted(_fit_others(fit, matches, priors, np.flatnonzero(priors)), _mean_of([anchor], players))
    fit, needed = _place_passive(fit, every, is_passive)
    priors += needed
    return _ratings(fit, among, prior=tuple(np.flatnonzero(priors).tolist()), ordered=ordered)


def _place_passive(fit: _Fit, matches: Matches, is_passive: Bools) -> tuple[_Fit, Floats]:
    """Place passive players by their matches against the others; returns also the priors that they needed."""
    mixed = matches.where(is_passive[matches.a] ^ is_passive[matches.b])
    needed = np.where(is_passive & ~_has_both(mixed, len(is_passive)), PLACEMENT_PRIOR, 0.0)
    return (_fit_others(fit, mixed, needed, np.flatnonzero(is_passive)) if is_passive.any() else fit), needed


def _has_both(matches: Matches, players: int) -> Bools:
    """Whether each player won or drew a match, and lost or drew one: else any strength that is greater, or less, fits."""
    won, lost = matches.wins_a + matches.ties > 0, matches.wins_b + matches.ties > 0
    up, down = np.zeros((2, players), dtype=np.bool_)
    up[matches.a[won]] = up[matches.b[lost]] = True
    down[matches.a[lost]] = down[matches.b[won]] = True
    down[matches.b[matches.ties > 0]] = up[matches.b[matches.ties > 0]] = True
    return np.asarray(up & down, np.bool_)


def _tally(pairings: Sequence[PairedTotals] | Floats) -> Matches:
    """Merge entries of one pair and first mover, and sort, so that the order of the input cannot change the sums."""
    table = np.asarray(pairings, dtype=np.float64).reshape(len(pairings), len(PairedTotals._fields))
    a, b, wins_a, wins_b, ties, first = table[(table[:, 0] != table[:, 1]) & (table[:, 2:5] > 0).any(axis=1)].T
    turned = a > b
    keys = np.where(turned, [b, a, -first], [a, b, first])
    counts = np.where(turned, [wins_b, wins_a, ties], [wins_a, wins_b, ties])
    order = np.lexsort((*counts, *keys[::-1]))
    keys, counts = keys[:, order], counts[:, order]
    begins = np.flatnonzero(np.diff(keys, prepend=np.nan).any(axis=0))
    wins_a, wins_b, ties = np.add.reduceat(counts, begins, axis=1) if len(begins) else counts
    a, b = keys[:2, begins].astype(np.intp)
    return Matches(a, b, wins_a, wins_b, ties, keys[2, begins])


def _within(matches: Matches, inside: Bools) -> Matches:
    return matches.where(inside[matches.a] & inside[matches.b])


def _fit_core(matches: Matches, core: Indices, players: int, *, nu_prior: bool, ordered: bool) -> _Fit:
    """Fit the core alone; the others stay at 0 with no variance."""
    likelihood = Likelihood(
        matches=matches, priors=np.zeros(players), decided=float(nu_prior), order_prior=ORDER_PRIOR if ordered else 0
    )
    point, spread = np.zeros(players + 2), np.zeros((players + 2, players + 2))
    tied = float(matches.ties.sum())
    point[-1] = np.log(2 * tied / (matches.total.sum() - tied + nu_prior)) if tied else -np.inf
    free = np.array([*(core if len(core) > 1 else ()), *[players] * ordered, *[players + 1] * (tied > 0)], np.intp)
    if len(free):
        point = maximise(likelihood, point, free)
        spread[np.ix_(free, free)] = covariance(likelihood, point, free)
    return _Fit(point, spread)


def _fit_others(core: _Fit, matches: Matches, priors: Floats, others: Indices) -> _Fit:
    """Place others around the players that were placed before, with their priors.

    Their estimate is a function of the core's. To first order its derivative is −(information about themselves)⁻¹ ·
    (information shared with the core); through it the core's uncertainty adds to theirs.
    """
    players = len(core.point) - 2
    touching = matches.where(np.isin(matches.a, others) | np.isin(matches.b, others))
    likelihood = Likelihood(matches=touching, priors=priors, decided=0)
    point = maximise(likelihood, core.point, others)
    alone, fixed = covariance(likelihood, point, others), np.delete(np.arange(players + 2), others)
    derivative = -alone @ likelihood.information(point)[np.ix_(others, fixed)]
    spread = core.spread.copy()
    shared = derivative @ core.spread[np.ix_(fixed, fixed)]
    spread[np.ix_(others, fixed)], spread[np.ix_(fixed, others)] = shared, shared.T
    spread[np.ix_(others, others)] = alone + shared @ derivative.T
    return _Fit(point, spread)


def _mean_of(chosen: Sequence[int], players: int) -> Floats:
    """The weights of a mean over these players, of all players."""
    weights = np.zeros(players)
    weights[chosen] = 1 / len(chosen)
    return weights


def _shifted(fit: _Fit, weights: Floats) -> _Fit:
    """Strengths relative to their weighted mean."""
    point, spread = fit.point.copy(), fit.spread.copy()
    point[:-2] -= weights @ fit.point[:-2]
    spread[:-2] -= weights @ spread[:-2]
    spread[:, :-2] -= (spread[:, :-2] @ weights)[:, np.newaxis]
    return _Fit(point, spread)


def _ratings(fit: _Fit, tries: Indices, *, prior: tuple[int, ...], ordered: bool) -> Ratings:
    theta, spread = fit.point[:-2], fit.spread[:-2, :-2]
    half = normal_quantiles(1 - significance_level(np.append(tries, 1).astype(np.float64)))
    around = half[:-1] * np.sqrt(np.maximum(np.diagonal(spread), 0))
    gamma, error = float(ELO_SCALE * fit.point[-2]), float(ELO_SCALE * half[-1] * math.sqrt(fit.spread[-2, -2]))
    return Ratings(
        theta=theta,
        covariance=spread,
        nu=float(np.exp(fit.point[-1])),
        moving_first=Rating(elo=gamma, low=gamma - error, high=gamma + error) if ordered else None,
        elo=ELO_SCALE * theta,
        low=ELO_SCALE * (theta - around),
        high=ELO_SCALE * (theta + around),
        prior=prior,
    )


def rating_order(theta: Floats, spread: Floats, tries: Indices) -> RatingOrder:
    """Places and rank intervals of these players among each other, from strengths, their covariance, and tries."""
    place = _places(ELO_SCALE * theta)
    better, worse = _compare(theta, spread, tries)
    rank_low = np.minimum(1 + better, place)
    rank_high = np.maximum(len(theta) - worse, place)
    return RatingOrder(rank_low=rank_low, rank_high=rank_high, place=place, with_leader=rank_low == 1)


def _places(elo: Floats) -> Indices:
    """1 + players with a higher rating; neighbours closer than `RATING_TOLERANCE` are equal."""
    order = np.argsort(-elo, kind="stable")
    begins = np.ones(len(elo), dtype=np.bool_)
    begins[1:] = np.diff(-elo[order]) > RATING_TOLERANCE
    place = np.empty(len(elo), dtype=np.intp)
    place[order] = np.maximum.accumulate(np.where(begins, np.arange(1, len(elo) + 1), 0))
    return place


def _compare(theta: Floats, spread: Floats, tries: Indices) -> tuple[Indices, Indices]:
    """For each player, how many are significantly stronger, and how many weaker.

    The differences of a player to all others are one family, which holds at 95 % (Holm), as in
    `leaderboard.scoring.significance.compare_all`; their errors include the covariance of the two.
    """
    variance, players = np.diagonal(spread), len(theta)
    critical = CriticalValues(np.zeros(players, dtype=np.intp), tries, max(players - 1, 1))
    better, worse = np.zeros((2, players), dtype=np.intp)
    for start in range(0, players, PLAYERS_AT_ONCE):
        rows, everyone = slice(start, start + PLAYERS_AT_ONCE), slice(0, players)
        of_lead = np.maximum(np.add.outer(variance[rows], variance) - 2 * spread[rows], np.finfo(np.float64).tiny)
        lead = np.subtract.outer(theta[rows], theta)
        apart = critical.step_down(np.abs(lead) / np.sqrt(of_lead), critical.classes(rows, everyone, lead > 0))
        better[rows] = (apart & (lead < 0)).sum(axis=1)
        worse[rows] = (apart & (lead > 0)).sum(axis=1)
    return better, worse


@dataclass(frozen=True, kw_only=True)
class RatedPlayers:
    """Players that played at least one duel, and their ratings."""

    players: tuple[AgentVersion, ...]
    """By name; the other fields give positions here."""
    duels: Mapping[tuple[int, int], CountedDuel]
    """The duel that counts of each two that played one."""
    anchor: int
    ratings: Ratings

    def elo(self) -> dict[AgentVersion, float]:
        """Each player's rating on the Elo scale."""
        return dict(zip(self.players, self.ratings.elo.tolist(), strict=True))


def rate_players(
    validated: Mapping[AgentVersion, str],
    counted_duels: Mapping[Pair, CountedDuel],
    anchor_names: Iterable[str],
    tries: Mapping[AgentVersion, int] | None = None,
    passive: Container[AgentName] = (),
) -> RatedPlayers | None:
    """Rate the players that played duels; None if nobody did.

    Args:
        validated: the players to rate, and when each was validated first.
        counted_duels: the duel of each pair that counts; validations and duels of other players are ignored.
        anchor_names: by preference; the first that plays is the anchor, rated 0, else the player validated first.
        tries: how many versions each player was chosen from; 1 if left out.
        passive: players that are rated and change nobody's rating.
    """
    between = {p: m for p, m in counted_duels.items() if p[0] != p[1] and p[0] in validated and p[1] in validated}
    players = tuple(sorted({version for pair in between for version in pair}))
    if not players:
        return None
    position = {version: index for index, version in enumerate(players)}
    duels = {(position[a], position[b]): between[a, b] for a, b in sorted(between)}
    anchor_names = tuple(anchor_names)
    # Whoever the hosts rate 0 is active, and where nobody else has played, all are.
    active = [v for v in players if v.name not in passive or any(is_named(v, name) for name in anchor_names)] or players
    others = sorted(set(position.values()) - {position[version] for version in active})
    anchor = position[_choose_anchor(active, validated, anchor_names)]
    among = [tries[version] for version in players] if tries else None
    ratings = fit_ratings(_pairings(duels), len(players), anchor, among, others)
    return RatedPlayers(players=players, duels=duels, anchor=anchor, ratings=ratings)


def _pairings(duels: Mapping[tuple[int, int], CountedDuel]) -> list[PairedTotals]:
    return [
        PairedTotals(a, b, *totals.won, totals.drawn, first)
        for (a, b), counted in duels.items()
        for first, totals in counted.totals.rated.items()
    ]


def _choose_anchor(
    players: Iterable[AgentVersion], validated: Mapping[AgentVersion, str], anchor_names: Iterable[str]
) -> AgentVersion:
    named = (version for name in anchor_names for version in players if is_named(version, name))
    return next(named, None) or min(players, key=lambda version: (validated[version], version))


def anchor_candidates(task: Task, baselines: Sequence[str]) -> list[str]:
    """The names of players to rate 0, by preference."""
    return [*([task.anchor] if task.anchor else []), *baselines]


def is_named(version: AgentVersion, name: str) -> bool:
    """Whether a name in challenge.yml means this player; examples are named by their folder alone."""
    login, agent = version.name
    return name.casefold() == (agent if login == EXAMPLES_LOGIN else f"{login}/{agent}").casefold()
