"""Davidson's model of matches with draws: chances, likelihood, and where the likelihood is greatest.

Player a, of strength θ_a, beats player b with odds e^(θ_a) : e^(θ_b), and they draw with odds ν · e^((θ_a + θ_b) / 2)
beside those (Davidson, On extending the Bradley-Terry model to accommodate ties in paired comparison experiments, JASA 65,
1970). Without draws, ν = 0, this is the model of Bradley and Terry. It is an exponential family in (θ, log ν), so that the
log-likelihood is concave and Newton's method finds its one maximum.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

# A step that moves no log-odds by more than SAFE is taken whole: the curvature changes by less than a factor of
# e^SAFE < 2 on the way (Bach, Self-concordant analysis for logistic regression, 2010), so the likelihood grows.
SAFE = 0.5
# No step moves a log-odds by more than FAR: beyond, a curvature may be lost to rounding.
FAR = 8.0
# Newton's steps shrink quadratically; after one this short only roundings are left.
DONE = 1e-9
STEPS = 1000
# A matrix of fewer rows is inverted whole.
SMALL = 64


class Matches(NamedTuple):
    """What was played, each pair once, by ascending players; a is the lesser of the two."""

    a: Indices
    """One player of each pair."""
    b: Indices
    """The other."""
    wins_a: Floats
    """Matches that a won."""
    wins_b: Floats
    """Matches that b won."""
    draws: Floats
    """Matches that nobody won."""

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
    """Of the score."""


def chances(lead: Floats, nu: float) -> Chances:
    """What strengths make of a match.

    Args:
        lead: θ_a − θ_b, of any size.
        nu: ν, how likely draws are.
    """
    root = np.exp(-np.abs(lead) / 2)
    whole = 1 + root * (root + nu)
    upper, draw, lower = 1 / whole, nu * root / whole, root * root / whole
    score = np.where(lead > 0, upper, lower) + draw / 2
    return Chances(score, draw, upper * lower + draw * (upper + lower) / 4)


@dataclass(frozen=True, kw_only=True)
class Likelihood:
    """The logarithm of the likelihood as a function of the strengths and, last, log ν; constants are left out."""

    matches: Matches
    """What was played."""
    priors: Floats
    """How many draws against a player of strength 0 are imagined for each player, shape (players,).

    They say nothing of ν, which is held where there are any.
    """
    decided: float
    """How many decided matches between equals are imagined; they bound ν and touch no strength."""

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
        """The second derivatives, negated: Fisher's information, shape (players + 1, players + 1)."""
        a, b = self.matches.a, self.matches.b
        theta, nu = point[:-1], float(np.exp(point[-1]))
        size, total = len(theta), self.matches.total
        expected, imagined = chances(theta[a] - theta[b], nu), chances(theta, nu)
        weight = total * expected.variance
        table = np.zeros((size + 1, size + 1))
        table[a, b] = table[b, a] = -weight
        own = np.bincount(a, weight, size) + np.bincount(b, weight, size) + self.priors * imagined.variance
        table[np.arange(size), np.arange(size)] = own
        both = total * expected.draw * (0.5 - expected.score)
        shared = np.bincount(a, both, size) - np.bincount(b, both, size)
        table[:-1, -1] = table[-1, :-1] = shared + self.priors * imagined.draw * (0.5 - imagined.score)
        table[-1, -1] = total @ (expected.draw * (1 - expected.draw)) + self.decided * 2 * nu / (2 + nu) ** 2
        return table

    def reach(self, step: Floats) -> float:
        """By how much a step moves the log-odds of an outcome at most."""
        theta = step[:-1]
        leads = np.abs(theta[self.matches.a] - theta[self.matches.b])
        return float(leads.max(initial=0) + np.abs(theta[self.priors > 0]).max(initial=0) + abs(step[-1]))


def maximise(likelihood: Likelihood, point: Floats, free: Indices) -> Floats:
    """Climb to the maximum by Newton's method; concave, it has only one.

    A long step is halved while the likelihood falls at its end. Only gradients are compared: the likelihood itself, a
    sum over a million matches, is too coarse for the last steps.

    Args:
        likelihood: what is climbed.
        point: where to begin.
        free: which parameters move. If nothing else holds the strengths, they move relative to their mean.
    """
    before = np.inf
    for _ in range(STEPS):
        step = np.zeros_like(point)
        step[free] = _solved(_factor(likelihood, point, free), likelihood.gradient(point)[free])
        reach = likelihood.reach(step)
        fraction = min(1.0, FAR / max(reach, FAR))
        while fraction * reach > SAFE and likelihood.gradient(point + fraction * step) @ step < 0:
            fraction /= 2
        point = point + fraction * step
        if reach < DONE or (reach < 1e-6 and reach > before / 2):
            break
        before = reach
    return point


def covariance(likelihood: Likelihood, point: Floats, free: Indices) -> Floats:
    """The inverse of the information about the free parameters; of loose strengths only differences have a meaning."""
    inverse = _inverse(_factor(likelihood, point, free))
    return np.asarray(inverse.T @ inverse, np.float64)


def _factor(likelihood: Likelihood, point: Floats, free: Indices) -> Floats:
    """Cholesky's factor of the information, a lower triangle.

    Without priors a common shift of the strengths changes nothing; a term that holds their sum takes that freedom.
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
            # Strengths so far apart that a curvature is lost to rounding.
            ridge = max(10 * ridge, 1e-14 * typical, np.finfo(np.float64).tiny)


def _solved(factor: Floats, values: Floats) -> Floats:
    """What `factor @ factor.T` turns into the values: forth and back through the triangle."""
    found = values.copy()
    for i in range(len(found)):
        found[i] = (found[i] - factor[i, :i] @ found[:i]) / factor[i, i]
    for i in reversed(range(len(found))):
        found[i] = (found[i] - factor[i + 1 :, i] @ found[i + 1 :]) / factor[i, i]
    return found


def _inverse(factor: Floats) -> Floats:
    """The inverse of a lower triangle, from those of its halves: a fourth of what numpy takes, which knows no triangles."""
    half = len(factor) // 2
    if len(factor) < SMALL:
        return np.tril(np.linalg.inv(factor))
    inverse = np.zeros_like(factor)
    inverse[:half, :half], inverse[half:, half:] = _inverse(factor[:half, :half]), _inverse(factor[half:, half:])
    inverse[half:, :half] = -inverse[half:, half:] @ (factor[half:, :half] @ inverse[:half, :half])
    return inverse
