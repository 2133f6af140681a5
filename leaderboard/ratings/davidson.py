"""Davidson's model of matches with ties and a first mover: probabilities, likelihood, and its maximum.

A tie is a drawn match, as in the papers.

The outcomes "a wins", "b wins" and "tie" have the odds e^(δ / 2) : e^(−δ / 2) : ν, with δ = θ_a − θ_b + γ if a moves
first, θ_a − θ_b − γ if b does, and θ_a − θ_b where both move at once; θ is a player's strength (Davidson, On extending
the Bradley-Terry model to accommodate ties in paired comparison experiments, JASA 65, 1970; with an order effect:
Davidson & Beaver, On extending the Bradley-Terry model to incorporate within-pair order effects, Biometrics 33, 1977).
Their factor of the second player is e^−γ, and their ν is e^(−γ / 2) times this one, so that γ does not change how likely
equals tie against each other. Without ties, ν = 0, this is the Bradley-Terry model. It is an exponential family in
(θ, γ, log ν), so the log-likelihood is concave and Newton's method finds its only maximum.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leaderboard.core.arrays import Floats, Indices

# A step that moves no log-odds by more than this is taken in full: the curvature changes by less than a factor of
# e^SAFE_STEP < 2 on the way (Bach, Self-concordant analysis for logistic regression, 2010), so the likelihood grows.
SAFE_STEP = 0.5
# No step moves a log-odds by more than this: beyond it, a curvature may be lost to rounding.
LONGEST_STEP = 8.0
# Newton's steps shrink quadratically; after one this short only rounding errors are left.
CONVERGED = 1e-9
MAX_ITERATIONS = 1000
# So many steps that are taken in full, of which none is shorter than all before, are rounding errors, however long they are.
STALLED_STEPS = 20
# A matrix with fewer rows is inverted in one piece.
SMALL_MATRIX = 64


class Matches(NamedTuple):
    """What was played: a row for each pair of players, a < b, and each first mover; arrays by row."""

    a: Indices
    b: Indices
    wins_a: Floats
    wins_b: Floats
    ties: Floats
    first: Floats
    """1 where a moved first, −1 where b did, 0 without a first mover."""

    @property
    def total(self) -> Floats:
        """Matches of each row."""
        return self.wins_a + self.wins_b + self.ties

    def where(self, chosen: npt.NDArray[np.bool_]) -> "Matches":
        """Some of the rows."""
        a, b, wins_a, wins_b, ties, first = self
        return Matches(a[chosen], b[chosen], wins_a[chosen], wins_b[chosen], ties[chosen], first[chosen])

    def lead(self, point: Floats) -> Floats:
        """δ at a point of the likelihood, or the change of δ with a step."""
        return np.asarray(point[self.a] - point[self.b] + point[-2] * self.first, np.float64)


class Chances(NamedTuple):
    """What the model expects of one match."""

    score: Floats
    """Mean of a's score: 1 for a win, ½ for a tie."""
    tie: Floats
    """Probability of a tie."""
    variance: Floats
    """Of a's score."""


def chances(lead: Floats, nu: float) -> Chances:
    """What the model expects of a match.

    Args:
        lead: δ, of any size.
        nu: ν, how likely ties are.
    """
    root = np.exp(-np.abs(lead) / 2)
    total = 1 + root * (root + nu)
    upper, tie, lower = 1 / total, nu * root / total, root * root / total
    score = np.where(lead > 0, upper, lower) + tie / 2
    return Chances(score, tie, upper * lower + tie * (upper + lower) / 4)


@dataclass(frozen=True, kw_only=True)
class Likelihood:
    """The log-likelihood as a function of a point: the strengths, then γ and log ν. Constants are left out."""

    matches: Matches
    priors: Floats
    """Pseudo-ties of each player against a player of strength 0, shape (players,); with any of them ν stays fixed."""
    decided: float
    """Pseudo-matches between equals that were decided; they bound ν and affect no strength."""
    order_prior: float = 0.0
    """Pseudo-matches between equals without ties, half of them won by the first mover; they bound γ."""

    def gradient(self, point: Floats) -> Floats:
        """The first derivatives, shape (players + 2,)."""
        a, b, wins, _, ties, first = self.matches
        theta, nu = point[:-2], float(np.exp(point[-1]))
        expected, imagined = chances(self.matches.lead(point), nu), chances(theta, nu)
        residual = wins + ties / 2 - self.matches.total * expected.score
        played = np.asarray(np.bincount(a, residual, len(theta)) - np.bincount(b, residual, len(theta)), np.float64)
        slope = played + self.priors * (0.5 - imagined.score)
        order = first @ residual + self.order_prior * (0.5 - chances(point[-2], 0).score)
        tied = ties.sum() - self.matches.total @ expected.tie - self.decided * nu / (2 + nu)
        return np.append(slope, [order, tied])

    def information(self, point: Floats) -> Floats:
        """Fisher's information, the negated second derivatives, shape (players + 2, players + 2)."""
        a, b, first = self.matches.a, self.matches.b, self.matches.first
        theta, nu = point[:-2], float(np.exp(point[-1]))
        size, total = len(theta), self.matches.total
        expected, imagined = chances(self.matches.lead(point), nu), chances(theta, nu)

        def by_player(of_a: Floats) -> Floats:
            return np.asarray(np.bincount(a, of_a, size) - np.bincount(b, of_a, size), np.float64)

        weight = total * expected.variance
        both = total * expected.tie * (0.5 - expected.score)
        table = np.zeros((size + 2, size + 2))
        np.subtract.at(table, (a, b), weight)
        np.subtract.at(table, (b, a), weight)
        diagonal = np.bincount(a, weight, size) + np.bincount(b, weight, size) + self.priors * imagined.variance
        table[np.arange(size), np.arange(size)] = diagonal
        table[:-2, -2] = table[-2, :-2] = by_player(first * weight)
        table[:-2, -1] = table[-1, :-2] = by_player(both) + self.priors * imagined.tie * (0.5 - imagined.score)
        table[-2, -2] = first**2 @ weight + self.order_prior * chances(point[-2], 0).variance
        table[-2, -1] = table[-1, -2] = first @ both
        table[-1, -1] = total @ (expected.tie * (1 - expected.tie)) + self.decided * 2 * nu / (2 + nu) ** 2
        return table

    def reach(self, step: Floats) -> float:
        """The most by which a step moves the log-odds of an outcome."""
        leads, imagined = np.abs(self.matches.lead(step)), np.abs(step[:-2][self.priors > 0])
        return float(leads.max(initial=0) + imagined.max(initial=0) + abs(step[-2]) + abs(step[-1]))


def maximise(likelihood: Likelihood, point: Floats, free: Indices) -> Floats:
    """Find the maximum by Newton's method.

    A long step is halved while the likelihood falls at its end. Only gradients are compared: the likelihood itself, a
    sum over a million matches, is too inexact for the last steps.

    Args:
        likelihood: what is maximised.
        point: where to start.
        free: which parameters change. Without priors the strengths change relative to their mean.
    """
    before = shortest = np.inf
    stalled = 0
    for _ in range(MAX_ITERATIONS):
        step = np.zeros_like(point)
        step[free] = _solved(_factor(likelihood, point, free), likelihood.gradient(point)[free])
        reach = likelihood.reach(step)
        fraction = min(1.0, LONGEST_STEP / max(reach, LONGEST_STEP))
        while fraction * reach > SAFE_STEP and likelihood.gradient(point + fraction * step) @ step < 0:
            fraction /= 2
        point = point + fraction * step
        stalled = stalled + 1 if shortest <= reach <= SAFE_STEP else 0
        if reach < CONVERGED or (reach < 1e-6 and reach > before / 2) or stalled == STALLED_STEPS:
            break
        before, shortest = reach, min(shortest, reach) if reach <= SAFE_STEP else np.inf
    return point


def covariance(likelihood: Likelihood, point: Floats, free: Indices) -> Floats:
    """The inverse of the information; without priors only differences of strengths have a meaning."""
    inverse = _inverse(_factor(likelihood, point, free))
    return np.asarray(inverse.T @ inverse, np.float64)


def _factor(likelihood: Likelihood, point: Floats, free: Indices) -> Floats:
    """The Cholesky factor of the information about the free parameters, a lower triangle.

    Without priors, and where nobody's strength is fixed, the likelihood does not change if all strengths shift together;
    an added term fixes their sum.
    """
    table = likelihood.information(point)
    table = table[np.ix_(free, free)]
    typical = float(np.mean(np.diagonal(table)))
    if not likelihood.priors.any() and np.isin([likelihood.matches.a, likelihood.matches.b], free).all():
        strengths = free < len(point) - 2
        table[np.ix_(strengths, strengths)] += typical
    ridge = 0.0
    while True:
        try:
            return np.asarray(np.linalg.cholesky(table + ridge * np.eye(len(free)) if ridge else table), np.float64)
        except np.linalg.LinAlgError:
            # Strengths are so far apart that a curvature is lost to rounding.
            ridge = max(10 * ridge, 1e-14 * typical, np.finfo(np.float64).tiny)


def _solved(factor: Floats, values: Floats) -> Floats:
    """Solve `factor @ factor.T @ x = values` by forward and backward substitution."""
    x = values.copy()
    for i in range(len(x)):
        x[i] = (x[i] - factor[i, :i] @ x[:i]) / factor[i, i]
    for i in reversed(range(len(x))):
        x[i] = (x[i] - factor[i + 1 :, i] @ x[i + 1 :]) / factor[i, i]
    return x


def _inverse(factor: Floats) -> Floats:
    """The inverse of a lower triangle, by halves: four times as fast as `np.linalg.inv`, which ignores the zeros."""
    half = len(factor) // 2
    if len(factor) < SMALL_MATRIX:
        return np.tril(np.linalg.inv(factor))
    inverse = np.zeros_like(factor)
    inverse[:half, :half], inverse[half:, half:] = _inverse(factor[:half, :half]), _inverse(factor[half:, half:])
    inverse[half:, :half] = -inverse[half:, half:] @ (factor[half:, :half] @ inverse[:half, :half])
    return inverse
