"""Davidson's model of matches with draws: probabilities, likelihood, and its maximum.

The outcomes "a wins", "b wins" and "draw" have the odds e^θ_a : e^θ_b : ν · e^((θ_a + θ_b) / 2), where θ is a player's
strength (Davidson, On extending the Bradley-Terry model to accommodate ties in paired comparison experiments, JASA 65,
1970). Without draws, ν = 0, this is the Bradley-Terry model. It is an exponential family in (θ, log ν), so the
log-likelihood is concave and Newton's method finds its only maximum.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leaderboard.scoring.bootstrap import Floats, Indices

# A step that moves no log-odds by more than this is taken in full: the curvature changes by less than a factor of
# e^SAFE_STEP < 2 on the way (Bach, Self-concordant analysis for logistic regression, 2010), so the likelihood grows.
SAFE_STEP = 0.5
# No step moves a log-odds by more than this: beyond it, a curvature may be lost to rounding.
LONGEST_STEP = 8.0
# Newton's steps shrink quadratically; after one this short only rounding errors are left.
CONVERGED = 1e-9
MAX_ITERATIONS = 1000
# A matrix with fewer rows is inverted in one piece.
SMALL_MATRIX = 64


class Matches(NamedTuple):
    """What was played, each pair of players once in ascending order, a < b; arrays by pair."""

    a: Indices
    b: Indices
    wins_a: Floats
    wins_b: Floats
    draws: Floats

    @property
    def total(self) -> Floats:
        """Matches of each pair."""
        return self.wins_a + self.wins_b + self.draws

    def where(self, chosen: npt.NDArray[np.bool_]) -> "Matches":
        """Some of the pairs."""
        a, b, wins_a, wins_b, draws = self
        return Matches(a[chosen], b[chosen], wins_a[chosen], wins_b[chosen], draws[chosen])


class Chances(NamedTuple):
    """What the model expects of one match."""

    score: Floats
    """Mean of a's score: 1 for a win, ½ for a draw."""
    draw: Floats
    """Probability of a draw."""
    variance: Floats
    """Of a's score."""


def chances(lead: Floats, nu: float) -> Chances:
    """What the model expects of a match.

    Args:
        lead: θ_a − θ_b, of any size.
        nu: ν, how likely draws are.
    """
    root = np.exp(-np.abs(lead) / 2)
    total = 1 + root * (root + nu)
    upper, draw, lower = 1 / total, nu * root / total, root * root / total
    score = np.where(lead > 0, upper, lower) + draw / 2
    return Chances(score, draw, upper * lower + draw * (upper + lower) / 4)


@dataclass(frozen=True, kw_only=True)
class Likelihood:
    """The log-likelihood as a function of a point: the strengths and, last, log ν. Constants are left out."""

    matches: Matches
    priors: Floats
    """Pseudo-draws of each player against a player of strength 0, shape (players,); with any of them ν stays fixed."""
    decided: float
    """Pseudo-matches between equals that were decided; they bound ν and affect no strength."""

    def gradient(self, point: Floats) -> Floats:
        """The first derivatives, shape (players + 1,)."""
        a, b, wins, _, draws = self.matches
        theta, nu = point[:-1], float(np.exp(point[-1]))
        expected, imagined = chances(theta[a] - theta[b], nu), chances(theta, nu)
        residual = wins + draws / 2 - self.matches.total * expected.score
        played = np.asarray(np.bincount(a, residual, len(theta)) - np.bincount(b, residual, len(theta)), np.float64)
        slope = played + self.priors * (0.5 - imagined.score)
        drawn = draws.sum() - self.matches.total @ expected.draw - self.decided * nu / (2 + nu)
        return np.append(slope, drawn)

    def information(self, point: Floats) -> Floats:
        """Fisher's information, the negated second derivatives, shape (players + 1, players + 1)."""
        a, b = self.matches.a, self.matches.b
        theta, nu = point[:-1], float(np.exp(point[-1]))
        size, total = len(theta), self.matches.total
        expected, imagined = chances(theta[a] - theta[b], nu), chances(theta, nu)
        weight = total * expected.variance
        table = np.zeros((size + 1, size + 1))
        table[a, b] = table[b, a] = -weight
        diagonal = np.bincount(a, weight, size) + np.bincount(b, weight, size) + self.priors * imagined.variance
        table[np.arange(size), np.arange(size)] = diagonal
        both = total * expected.draw * (0.5 - expected.score)
        shared = np.bincount(a, both, size) - np.bincount(b, both, size)
        table[:-1, -1] = table[-1, :-1] = shared + self.priors * imagined.draw * (0.5 - imagined.score)
        table[-1, -1] = total @ (expected.draw * (1 - expected.draw)) + self.decided * 2 * nu / (2 + nu) ** 2
        return table

    def reach(self, step: Floats) -> float:
        """The most by which a step moves the log-odds of an outcome."""
        theta = step[:-1]
        leads = np.abs(theta[self.matches.a] - theta[self.matches.b])
        return float(leads.max(initial=0) + np.abs(theta[self.priors > 0]).max(initial=0) + abs(step[-1]))


def maximise(likelihood: Likelihood, point: Floats, free: Indices) -> Floats:
    """Find the maximum by Newton's method.

    A long step is halved while the likelihood falls at its end. Only gradients are compared: the likelihood itself, a
    sum over a million matches, is too inexact for the last steps.

    Args:
        likelihood: what is maximised.
        point: where to start.
        free: which parameters change. Without priors the strengths change relative to their mean.
    """
    before = np.inf
    for _ in range(MAX_ITERATIONS):
        step = np.zeros_like(point)
        step[free] = _solved(_factor(likelihood, point, free), likelihood.gradient(point)[free])
        reach = likelihood.reach(step)
        fraction = min(1.0, LONGEST_STEP / max(reach, LONGEST_STEP))
        while fraction * reach > SAFE_STEP and likelihood.gradient(point + fraction * step) @ step < 0:
            fraction /= 2
        point = point + fraction * step
        if reach < CONVERGED or (reach < 1e-6 and reach > before / 2):
            break
        before = reach
    return point


def covariance(likelihood: Likelihood, point: Floats, free: Indices) -> Floats:
    """The inverse of the information; without priors only differences of strengths have a meaning."""
    inverse = _inverse(_factor(likelihood, point, free))
    return np.asarray(inverse.T @ inverse, np.float64)


def _factor(likelihood: Likelihood, point: Floats, free: Indices) -> Floats:
    """The Cholesky factor of the information about the free parameters, a lower triangle.

    Without priors the likelihood does not change if all strengths shift together; an added term fixes their sum.
    """
    table = likelihood.information(point)
    table = table[np.ix_(free, free)]
    typical = float(np.mean(np.diagonal(table)))
    if not likelihood.priors.any():
        strengths = free < len(point) - 1
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
