"""Rated players: from the duels that count to strengths, with one of the players at 0."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evaluator.model.config.challenge import Task
from leaderboard.core.eligibility import LOCAL
from leaderboard.ratings.connectivity import bounds_draws, core_of
from leaderboard.ratings.davidson import Floats, Indices, Likelihood, Matches, covariance, maximise
from leaderboard.ratings.duel_results import AgentVersion, CountedDuel, Pair
from leaderboard.scoring.intervals import ENDS, normal_quantile

# 400 points are odds of ten to one (Elo, The Rating of Chessplayers, 1978).
ELO = 400 / np.log(10)
# Ratings that differ by less share a place.
EQUAL = 1e-9
# Half a 95 % interval, in standard errors.
MARGIN = normal_quantile(ENDS[1])
# Pairs are compared in blocks of this many rows, which stay in the processor's cache.
ROWS = 64


class PairedTotals(NamedTuple):
    """What two players did against each other."""

    a: int
    """One player, from 0."""
    b: int
    """The other."""
    wins_a: float
    """Matches that a won."""
    wins_b: float
    """Matches that b won."""
    draws: float
    """Matches that nobody won."""


class RatingOrder(NamedTuple):
    """Where players stand among each other; arrays by player."""

    rank_low: Indices
    """1 + players significantly stronger."""
    rank_high: Indices
    """Players − those significantly weaker."""
    place: Indices
    """1 + players with a higher rating; equal ratings share a place."""
    with_leader: npt.NDArray[np.bool_]
    """Not told apart from the leader; where several share the first place, from at least one of them."""


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """How strong the players are; every array is by player, of shape (players,) unless it says otherwise."""

    theta: Floats
    """Logarithm of the strength; the anchor's is 0."""
    covariance: Floats
    """Of `theta`, shape (players, players); the anchor's row and column are 0."""
    nu: float
    """How likely draws are: between equals ν : 2; 0 without draws."""
    elo: Floats
    """`theta` on the Elo scale."""
    low: Floats
    """Lower end of the 95 % interval of the difference to the anchor."""
    high: Floats
    """Upper end."""
    rank_low: Indices
    """1 + players significantly stronger."""
    rank_high: Indices
    """Players − those significantly weaker."""
    place: Indices
    """1 + players with a higher rating; equal ratings share a place."""
    with_leader: npt.NDArray[np.bool_]
    """Not told apart from the leader; where several share the first place, from at least one of them."""
    prior: tuple[int, ...]
    """Players whose rating needs a prior, ascending."""
    nu_prior: bool
    """Whether ν needs a prior: no way round leads over more wins than draws, as where all matches are draws."""


class _Fit(NamedTuple):
    """Estimates of all strengths and log ν, and their covariance, shape (players + 1,) and (players + 1, players + 1)."""

    point: Floats
    spread: Floats


def fit_ratings(pairings: Sequence[PairedTotals] | Floats, players: int, anchor: int) -> Ratings:
    """Rate players by what they did against each other.

    Maximum likelihood of Davidson's model (JASA 65, 1970): a beats b with probability π_a / (π_a + π_b + ν √(π_a π_b)),
    and draws with ν √(π_a π_b) / (the same); theta = log π. It exists only among players each of whom can be reached
    from each other over "beat or drew" (Ford, Solution of a ranking problem from binary comparisons, American
    Mathematical Monthly 64, 1957). So the largest such part is fitted alone. The others are placed with that held fixed,
    each with a prior of one draw against the anchor, or against the mean of that part where the anchor is not in it:
    a player that won all its matches is rated, and moves nobody else.

    With draws this is not enough for ν: if A beats B or draws, and never loses, ν and A's strength grow together without
    end. There, ν has a prior of one decided match between two equals, which touches no strength.

    The intervals are Wald's, from the inverse of the information; the uncertainty of the fixed part is carried over to
    the others.

    Args:
        pairings: who did what against whom, in any order, as tuples or as an array of shape (pairings, 5). The order
            does not change a bit of what is returned.
        players: how many there are; those without a match are rated by their prior.
        anchor: who is rated 0.
    """
    matches = _tally(pairings)
    core = core_of(matches, players, anchor)
    inside = np.zeros(players, dtype=np.bool_)
    inside[core] = True
    weights = np.zeros(players)
    weights[[anchor] if inside[anchor] else core] = 1 / (1 if inside[anchor] else len(core))
    nu_prior = bool((_within(matches, inside).draws > 0).any()) and not bounds_draws(_within(matches, inside), players)
    fit = _shifted(_fit_core(_within(matches, inside), core, players, nu_prior), weights)
    others = np.flatnonzero(~inside)
    if len(others):
        fit = _shifted(_place_others(fit, matches, others), np.eye(1, players, anchor)[0])
    nu = float(np.exp(fit.point[-1]))
    return _ratings(fit.point[:-1], fit.spread[:-1, :-1], nu=nu, prior=tuple(others.tolist()), nu_prior=nu_prior)


def _tally(pairings: Sequence[PairedTotals] | Floats) -> Matches:
    """Each pair once, in ascending order; sums are taken in an order that is a function of their terms alone."""
    table = np.asarray(pairings, dtype=np.float64).reshape(-1, 5)
    table = table[(table[:, 0] != table[:, 1]) & (table[:, 2:] > 0).any(axis=1)]
    turned = table[:, 0] > table[:, 1]
    table = np.where(turned[:, np.newaxis], table[:, [1, 0, 3, 2, 4]], table)
    table = table[np.lexsort(table.T[::-1])]
    begins = np.ones(len(table), dtype=np.bool_)
    begins[1:] = (table[1:, :2] != table[:-1, :2]).any(axis=1)
    first = np.flatnonzero(begins)
    sums = np.add.reduceat(table[:, 2:], first, axis=0) if len(first) else table[:, 2:]
    return Matches(*table[first, :2].astype(np.intp).T, *sums.T)


def _within(matches: Matches, inside: npt.NDArray[np.bool_]) -> Matches:
    return matches.where(inside[matches.a] & inside[matches.b])


def _fit_core(matches: Matches, core: Indices, players: int, nu_prior: bool) -> _Fit:
    """Fit the core alone; the others stay at 0 and certain."""
    likelihood = Likelihood(matches=matches, priors=np.zeros(players), decided=float(nu_prior))
    point, spread = np.zeros(players + 1), np.zeros((players + 1, players + 1))
    drawn = float(matches.draws.sum())
    point[-1] = np.log(2 * drawn / (matches.total.sum() - drawn + nu_prior)) if drawn else -np.inf
    free = np.append(core, players) if drawn else core
    if len(core) > 1:
        point = maximise(likelihood, point, free)
        spread[np.ix_(free, free)] = covariance(likelihood, point, free)
    return _Fit(point, spread)


def _place_others(core: _Fit, matches: Matches, others: Indices) -> _Fit:
    """Place the others around the core.

    Their estimate is a function of the core's; to first order its derivative is −(information about themselves)⁻¹ ·
    (information shared with the core), by which the core's uncertainty adds to their own.
    """
    players = len(core.point) - 1
    priors = np.zeros(players)
    priors[others] = 1
    touching = matches.where((priors[matches.a] > 0) | (priors[matches.b] > 0))
    likelihood = Likelihood(matches=touching, priors=priors, decided=0)
    point = maximise(likelihood, core.point, others)
    own, fixed = covariance(likelihood, point, others), np.delete(np.arange(players + 1), others)
    change = -own @ likelihood.information(point)[np.ix_(others, fixed)]
    spread, held = core.spread.copy(), core.spread[np.ix_(fixed, fixed)]
    shared = change @ held
    spread[np.ix_(others, fixed)], spread[np.ix_(fixed, others)] = shared, shared.T
    spread[np.ix_(others, others)] = own + shared @ change.T
    return _Fit(point, spread)


def _shifted(fit: _Fit, weights: Floats) -> _Fit:
    """The same with strengths relative to a weighted mean of them."""
    point, spread = fit.point.copy(), fit.spread.copy()
    point[:-1] -= weights @ fit.point[:-1]
    spread[:-1] -= weights @ spread[:-1]
    spread[:, :-1] -= (spread[:, :-1] @ weights)[:, np.newaxis]
    return _Fit(point, spread)


def _ratings(theta: Floats, spread: Floats, *, nu: float, prior: tuple[int, ...], nu_prior: bool) -> Ratings:
    around = MARGIN * np.sqrt(np.maximum(np.diagonal(spread), 0))
    return Ratings(
        theta=theta,
        covariance=spread,
        nu=nu,
        elo=ELO * theta,
        low=ELO * (theta - around),
        high=ELO * (theta + around),
        prior=prior,
        nu_prior=nu_prior,
        **rating_order(theta, spread)._asdict(),
    )


def rating_order(theta: Floats, spread: Floats) -> RatingOrder:
    """Places and rank intervals of players, judged two by two: whoever is not among them counts for nothing.

    Args:
        theta: how strong they are.
        spread: the covariance of that.
    """
    place = _places(ELO * theta)
    better, worse, leaders_better = _compare(theta, spread, place == 1)
    return RatingOrder(
        rank_low=np.minimum(1 + better, place),
        rank_high=np.maximum(len(theta) - worse, place),
        place=place,
        with_leader=leaders_better < (place == 1).sum(),
    )


def _places(elo: Floats) -> Indices:
    """1 + players with a higher rating, where neighbours closer than `EQUAL` are equal."""
    order = np.argsort(-elo, kind="stable")
    begins = np.ones(len(elo), dtype=np.bool_)
    begins[1:] = np.diff(-elo[order]) > EQUAL
    place = np.empty(len(elo), dtype=np.intp)
    place[order] = np.maximum.accumulate(np.where(begins, np.arange(1, len(elo) + 1), 0))
    return place


def _compare(theta: Floats, spread: Floats, best: npt.NDArray[np.bool_]) -> tuple[Indices, Indices, Indices]:
    """How many are significantly stronger than each, how many weaker, and how many of the best are stronger.

    Two are told apart where the 95 % interval of their difference excludes 0.
    """
    own = np.diagonal(spread)
    better, worse, leaders_better = np.zeros((3, len(theta)), dtype=np.intp)
    for start in range(0, len(theta), ROWS):
        rows = slice(start, start + ROWS)
        sure = MARGIN * np.sqrt(np.maximum(np.add.outer(own[rows], own) - 2 * spread[rows], 0))
        lead = np.subtract.outer(theta[rows], theta)
        better[rows] = (lead < -sure).sum(axis=1)
        worse[rows] = (lead > sure).sum(axis=1)
        leaders_better[rows] = (lead[:, best] < -sure[:, best]).sum(axis=1)
    return better, worse, leaders_better


@dataclass(frozen=True, kw_only=True)
class RatedPlayers:
    """Players that met at least one other."""

    players: tuple[AgentVersion, ...]
    """In order of their names."""
    met: Mapping[tuple[int, int], CountedDuel]
    """For each two that met, by their positions, what counts."""
    anchor: int
    """The position of the one at 0."""
    ratings: Ratings
    """By position."""

    def elo(self) -> dict[AgentVersion, float]:
        """How strong each is."""
        return dict(zip(self.players, self.ratings.elo.tolist(), strict=True))


def rate_players(
    admitted: Mapping[AgentVersion, str], meetings: Mapping[Pair, CountedDuel], zero: Iterable[str]
) -> RatedPlayers | None:
    """Rate those who met; None where nobody did.

    Args:
        admitted: who may play, and since when.
        meetings: what counts; of players that are not admitted too, and validations.
        zero: names by preference; the first that plays is rated 0, else the player that is here longest.
    """
    between = {p: m for p, m in meetings.items() if p[0] != p[1] and p[0] in admitted and p[1] in admitted}
    players = tuple(sorted({version for pair in between for version in pair}))
    if not players:
        return None
    position = {version: index for index, version in enumerate(players)}
    met = {(position[a], position[b]): between[a, b] for a, b in sorted(between)}
    anchor = position[_anchor(players, admitted, zero)]
    return RatedPlayers(players=players, met=met, anchor=anchor, ratings=fit_ratings(_pairings(met), len(players), anchor))


def _pairings(met: Mapping[tuple[int, int], CountedDuel]) -> list[PairedTotals]:
    return [
        PairedTotals(a, b, meeting.tally.wins[0], meeting.tally.wins[1], meeting.tally.draws)
        for (a, b), meeting in met.items()
    ]


def _anchor(players: Iterable[AgentVersion], admitted: Mapping[AgentVersion, str], zero: Iterable[str]) -> AgentVersion:
    named = (version for name in zero for version in players if is_named(version, name))
    return next(named, None) or min(players, key=lambda version: (admitted[version], version))


def anchor_ratings(task: Task, baselines: Sequence[str]) -> list[str]:
    """Who may be rated 0, by preference."""
    return [*([task.anchor] if task.anchor else []), *baselines]


def is_named(version: AgentVersion, name: str) -> bool:
    """Whether challenge.yml means this player; examples are named by their folder alone."""
    login, agent = version.name
    return name.casefold() == (agent if login == LOCAL else f"{login}/{agent}").casefold()
