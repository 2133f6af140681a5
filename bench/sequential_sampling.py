"""A study that did not become a feature: episodes in blocks until every pair of neighbours is told apart.

Instead of 100 episodes for every agent, agents play blocks of 10. After each block neighbours in the standings are
called better, worse, or equal within a margin, each pair at 5 % over the number of neighbours; only agents with an
undecided neighbour play on. This was to become a feature if (1) at most 5 % of boards had a false order, (2) as many
neighbours were called rightly with at most half of the episodes that 100 for everyone takes, and (3) it needed fewer
than playing on together in 80 % of cases. 26 cases were tried, 400 boards each: 14 of known distributions, one where
an agent crashes in 2 % of its episodes, and 11 of episodes drawn from recorded results of the examples. Bets need
bounds, which 11 cases have.

| method | (1) holds in | (2) holds in, median | (3) holds in |
|---|---|---|---|
| asymptotic confidence sequence | 25 of 26 | 7 of 25, 0.89 | 16 of 17 |
| bets, stakes mixed | 11 of 11 | 2 of 11, 1.83 | 4 of 5 |
| bets, stake as N-SCORE chooses it | 11 of 11 | 2 of 11, 2.09 | 4 of 5 |
| ten planned looks, O'Brien–Fleming | 25 of 26 | 6 of 25, 0.79 | 12 of 17 |
| ten planned looks, Pocock | 25 of 26 | 9 of 25, 0.79 | 15 of 17 |

Half of the episodes are enough where agents are far apart (a rule against a random agent: 10 to 30 instead of 100),
but there nobody needs the saving. Close or equal neighbours need 0.8 to 2.1 times as many; with lognormal returns 0.5
to 0.8, with recorded ones 0.3 to 1.4 or more than there were. No test can save half in every case: where 100 episodes
settle 78 % of normal neighbours, the best sequential test, told both means, still needs 0.64 of them. Only bets are
safe as long as a rare crash was not seen: the others call a false order on 67 to 98 % of such boards, 100 fixed
episodes on 15 %. So there is no feature. Blocks of 1, 5 and 20 gave the same picture. Episodes are independent here,
and a pair is compared on the blocks that both agents played.
"""

import functools
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from scipy.special import ndtr, ndtri, stdtrit

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Calls = npt.NDArray[np.int8]
Draw = Callable[[np.random.Generator, tuple[int, int, int]], Floats]

ALPHA = 0.05
AGENTS = 8
FIXED = 100
BLOCK, LOOKS = 10, 30
PLANNED_LOOKS = 10
PLANNED_BLOCKS = (10, 11, 12, 14, 16, 20)
UNDECIDED, BETTER, WORSE, EQUAL = 0, 1, -1, 2
# Shares of neighbours count as the same within half a point.
SAME_SHARE = 0.005
# Below this share of settled neighbours no two methods are compared.
TINY_SHARE = 0.05
# Less is lost in rounding where a density is carried forward.
LEAST_SPENT = 1e-12
# A radius that no mean exceeds.
NEVER = 1e9
STAKES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.55, 0.75, 0.95])
HALF_APART = "normal, 0.5 sd apart, no margin"
RECORDED = Path(__file__).with_name("recorded_returns.json")


class Row(NamedTuple):
    """A line of the table of measured promises."""

    case: str
    measured: str
    target: str
    note: str


class Case(NamedTuple):
    """A kind of board: agents with known means, and how their episodes are drawn."""

    name: str
    means: Floats
    """Shape (agents,)."""
    margin: float
    """Neighbours nearer than this may be called equal; 0: the host names no margin."""
    draw: Draw
    """Returns of shape (boards, agents, episodes)."""
    bounds: tuple[float, float] | None = None


class Course(NamedTuple):
    """What is known after each look, shape (looks,)."""

    episodes: Floats
    """Episodes of one board so far, all agents together, on average."""
    settled: Floats
    """Share of neighbours in the standings that are called rightly."""
    false_order: Floats
    """Share of boards with some call of better or worse that is not true."""
    false_equal: Floats
    """Share of boards with some call of equal for agents further apart than the margin."""


class PairTest(Protocol):
    """Decides on differences of pairs of agents; boards × pairs at once."""

    def add(self, differences: Floats, both: Flags) -> None:
        """Take a block, shape (boards, pairs, episodes), where both agents of a pair played it."""

    def calls(self, margin: float) -> Calls:
        """What the test says now, shape (boards, pairs)."""


Radius = Callable[[Floats, float], Floats]
"""Half the width of an interval of a mean in standard deviations, for numbers of episodes and a two-sided level."""

Spending = Callable[[float, Floats], Floats]
"""The level that one side may have spent after shares of the planned episodes."""


class IntervalTest:
    """Calls by an interval of the mean difference: zero outside it, or all of it within the margin.

    The second needs the interval of twice the level: two one-sided tests (Schuirmann, Journal of Pharmacokinetics and
    Biopharmaceutics 15, 1987).
    """

    def __init__(self, radius: Radius, level: float, shape: tuple[int, int]) -> None:
        self._radius, self._level = radius, level
        self._count, self._sum, self._squares = np.zeros((3, *shape))

    def add(self, differences: Floats, both: Flags) -> None:
        """Take a block."""
        self._count += both * differences.shape[2]
        self._sum += both * differences.sum(axis=2)
        self._squares += both * (differences**2).sum(axis=2)

    def calls(self, margin: float) -> Calls:
        """Say what holds; nothing where all differences are the same, which is no certainty."""
        count = np.maximum(self._count, 2)
        mean = self._sum / count
        spread = np.sqrt(np.maximum(self._squares - count * mean**2, 0) / (count - 1))
        wide, narrow = (spread * self._radius(count, level) for level in (self._level, 2 * self._level))
        called = np.select([mean > wide, mean < -wide, np.abs(mean) + narrow < margin], [BETTER, WORSE, EQUAL], UNDECIDED)
        return np.where((spread > 1e-9) & (self._count > 0), called, UNDECIDED).astype(np.int8)


class BettingTest:
    """Calls by the capital of bets on differences of bounded returns; valid at any look and for any distribution.

    A bet of stake λ multiplies capital by 1 + λ·d, with d the difference over the range; it is a fair game if the two means
    are equal. `mixed` spreads the first capital over all stakes (Waudby-Smith & Ramdas, JRSS B 86, 2024: diversified Kelly
    betting). Otherwise each block is played with the stake that would have earned most so far, as N-SCORE chooses it
    (arXiv 2603.13616; its package updates after every episode and smooths by a Dirichlet prior).
    """

    def __init__(self, width: float, margin: float, level: float, shape: tuple[int, int], *, mixed: bool) -> None:
        self._width, self._margin, self._level, self._mixed = width, margin / width, level, mixed
        self._stakes = STAKES if mixed else np.append(0, STAKES)
        self._logs = np.zeros((4, len(self._stakes), *shape))
        self._adaptive = np.zeros((4, *shape))

    def add(self, differences: Floats, both: Flags) -> None:
        """Take a block: bets on better, on worse, on more than −margin and on less than the margin."""
        scaled = differences / self._width
        payoffs = (scaled, -scaled, scaled + self._margin, self._margin - scaled)
        for side, payoff in enumerate(payoffs[: 4 if self._margin else 2]):
            best = self._logs[side].argmax(axis=0)
            grown = np.stack([np.log(np.prod(1 + stake * payoff, axis=2)) for stake in self._stakes]) * both
            self._adaptive[side] += np.take_along_axis(grown, best[None], axis=0)[0]
            self._logs[side] += grown

    def calls(self, margin: float) -> Calls:
        """Say on which side the capital reached one over the level."""
        capital = np.logaddexp.reduce(self._logs, axis=1) - math.log(len(STAKES)) if self._mixed else self._adaptive
        ordered, equal = math.log(2 / self._level), math.log(1 / self._level)
        conditions = [capital[0] > ordered, capital[1] > ordered, (margin > 0) & (capital[2:].min(axis=0) > equal)]
        return np.select(conditions, [BETTER, WORSE, EQUAL], UNDECIDED).astype(np.int8)


def student(count: Floats, level: float) -> Floats:
    """The interval of a number of episodes fixed before."""
    return stdtrit(count - 1, 1 - level / 2) / np.sqrt(count)


def asymptotic(count: Floats, level: float) -> Floats:
    """An asymptotic confidence sequence, narrowest near 50 episodes, from 20 on.

    Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences"
    (2021), the normal mixture.
    """
    tuned = (-2 * math.log(level) + math.log(-2 * math.log(level)) + 1) / 50
    scaled = count * tuned
    radius = np.sqrt(2 * (scaled + 1) / (count * scaled) * np.log(np.sqrt(scaled + 1) / level))
    return np.where(count < 20, NEVER, radius)


def o_brien_fleming(level: float, share: Floats) -> Floats:
    """The level spent on one side by a share of the episodes; little at first (Lan & DeMets, Biometrika 70, 1983)."""
    return 2 * ndtr(-ndtri(1 - level / 4) / np.sqrt(share))


def pocock(level: float, share: Floats) -> Floats:
    """The level spent on one side, nearly evenly over the looks (Lan & DeMets, 1983)."""
    return level / 2 * np.log(1 + (math.e - 1) * share)


def group_sequential(spending: Spending, block: int) -> Radius:
    """The intervals of a group-sequential test of ten looks: they hold for these looks, not for more."""

    def radius(count: Floats, level: float) -> Floats:
        look = np.minimum(count // block, PLANNED_LOOKS).astype(int)
        beyond = ndtr(-boundary(spending, level, PLANNED_LOOKS)[look - 1])
        return -stdtrit(count - 1, np.maximum(beyond, LEAST_SPENT)) / np.sqrt(count)

    return radius


@functools.lru_cache
def boundary(spending: Spending, level: float, looks: int) -> Floats:
    """Two-sided boundaries of the z statistic at equally spaced looks.

    The density of the sum of steps is carried from look to look (Armitage, McPherson & Rowe, Journal of the Royal
    Statistical Society A 132, 1969).
    """
    grid = np.linspace(-30, 30, 3001)
    step = grid[1] - grid[0]
    kernel = np.exp(-(np.linspace(-8, 8, 801) ** 2) / 2) / math.sqrt(2 * math.pi) * step
    spent = spending(level, np.arange(1, looks + 1) / looks)
    density = np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi)
    limits = np.empty(looks)
    for look, allowed in enumerate(np.diff(spent, prepend=0)):
        beyond = (density[::-1].cumsum() - density[::-1] / 2) * step
        highest = np.interp(max(allowed, LEAST_SPENT), beyond, grid[::-1])
        limits[look] = highest / math.sqrt(look + 1)
        density = np.convolve(np.where(grid < highest, density, 0), kernel, mode="same")
    return limits


def play(values: Floats, case: Case, test: PairTest, block: int, *, adaptive: bool) -> Course:
    """Look after every block until each pair of neighbours in the standings is called; a call stays.

    Args:
        values: shape (boards, agents, episodes); all blocks that there are.
        case: the means behind them.
        test: fresh, at the level of one pair.
        block: episodes between two looks.
        adaptive: whether only agents with an undecided neighbour play on; otherwise all do while any has.
    """
    boards, agents, most = values.shape
    first, second = np.triu_indices(agents, 1)
    pair = np.zeros((agents, agents), dtype=int)
    pair[first, second] = pair[second, first] = np.arange(len(first))
    gap = case.means[first] - case.means[second]
    called = np.zeros((boards, len(first)), dtype=np.int8)
    playing = np.ones((boards, agents), dtype=bool)
    sums, count = np.zeros((2, boards, agents))
    course: list[tuple[float, float, float, float]] = []
    for begin in range(0, most, block):
        if not playing.any():
            course.append(course[-1])
            continue
        new = values[:, :, begin : begin + block]
        sums, count = sums + playing * new.sum(axis=2), count + playing * block
        test.add(new[:, first] - new[:, second], playing[:, first] & playing[:, second])
        order = np.argsort(-sums / count, axis=1, kind="stable")
        neighbours = pair[order[:, :-1], order[:, 1:]]
        before = np.take_along_axis(called, neighbours, axis=1)
        calls = np.where(before == UNDECIDED, np.take_along_axis(test.calls(case.margin), neighbours, axis=1), before)
        np.put_along_axis(called, neighbours, calls, axis=1)
        playing = _undecided(order, calls == UNDECIDED)
        if not adaptive:
            playing = np.broadcast_to(playing.any(axis=1, keepdims=True), playing.shape)
        course.append((count.sum(axis=1).mean(), *_judged(called, calls, gap, gap[neighbours], case.margin)))
    return Course(*np.array(course).T)


def _undecided(order: npt.NDArray[np.intp], doubtful: Flags) -> Flags:
    """Which agents have an undecided neighbour above or below."""
    below, above = np.pad(doubtful, ((0, 0), (0, 1))), np.pad(doubtful, ((0, 0), (1, 0)))
    undecided = np.empty(order.shape, dtype=bool)
    np.put_along_axis(undecided, order, below | above, axis=1)
    return undecided


def _judged(called: Calls, calls: Calls, gap: Floats, gaps: Floats, margin: float) -> tuple[float, float, float]:
    """Compare calls with the truth: settled neighbours, boards with a false order, boards with a false equality."""
    right = ((calls == BETTER) & (gaps > 0)) | ((calls == WORSE) & (gaps < 0)) | ((calls == EQUAL) & (abs(gaps) <= margin))
    false_order = ((called == BETTER) & (gap <= 0)) | ((called == WORSE) & (gap >= 0))
    false_equal = (called == EQUAL) & (abs(gap) > margin)
    return right.mean(), false_order.any(axis=1).mean(), false_equal.any(axis=1).mean()


class Outcome(NamedTuple):
    """One method on one case."""

    case: str
    method: str
    agents: int
    fixed: float
    """Share of neighbours that the fixed number of episodes settles."""
    false_order: float
    false_equal: float
    ratio: float | None
    """Episodes for the same share, over the fixed number; infinite if more would be needed, None if the share is tiny."""
    uniform: float | None
    """The same where all agents play until the last pair is called."""


SPENDING = {"O'Brien–Fleming": o_brien_fleming, "Pocock": pocock}
METHODS = ("asymptotic", "betting, mixed", "betting, N-SCORE's stake", *SPENDING)


def _new_test(method: str, case: Case, boards: int, block: int) -> PairTest:
    agents = len(case.means)
    shape, level = (boards, agents * (agents - 1) // 2), ALPHA / (agents - 1)
    if method.startswith("betting"):
        assert case.bounds is not None
        width = case.bounds[1] - case.bounds[0]
        return BettingTest(width, case.margin, level, shape, mixed=method == "betting, mixed")
    if method in SPENDING:
        return IntervalTest(group_sequential(SPENDING[method], block), level, shape)
    return IntervalTest({"fixed": student, "asymptotic": asymptotic}[method], level, shape)


def _needed(course: Course, share: float) -> float:
    """Episodes until a share of neighbours is settled, between two looks in proportion."""
    reached = np.flatnonzero(course.settled >= share - SAME_SHARE)
    if not len(reached):
        return math.inf
    ends = slice(max(reached[0] - 1, 0), reached[0] + 1)
    return float(np.interp(share - SAME_SHARE, course.settled[ends], course.episodes[ends]))


def _measure(method: str, case: Case, values: Floats, share: float, *, adaptive: bool) -> tuple[float, Course]:
    """Episodes that a method needs for a share, and the course that says how often it was wrong meanwhile."""
    boards = len(values)
    if method not in SPENDING:
        course = play(values, case, _new_test(method, case, boards, BLOCK), BLOCK, adaptive=adaptive)
        return _needed(course, share), course
    for block in PLANNED_BLOCKS:
        planned = values[:, :, : block * PLANNED_LOOKS]
        course = play(planned, case, _new_test(method, case, boards, block), block, adaptive=adaptive)
        if course.settled[-1] >= share - SAME_SHARE:
            return float(course.episodes[-1]), course
    return math.inf, course


def outcomes(case: Case, boards: int, seed: int) -> Iterator[Outcome]:
    """Play one case by every method that may: bets need bounds."""
    shape = (boards, len(case.means), BLOCK * LOOKS)
    values = case.draw(np.random.default_rng(seed), shape)
    fixed = play(values[:, :, :FIXED], case, _new_test("fixed", case, boards, FIXED), FIXED, adaptive=False)
    share, total = fixed.settled[-1], FIXED * len(case.means)
    yield Outcome(case.name, "fixed", len(case.means), share, fixed.false_order[-1], fixed.false_equal[-1], 1, 1)
    for method in METHODS:
        if method.startswith("betting") and case.bounds is None:
            continue
        needed, course = _measure(method, case, values, share, adaptive=True)
        uniform, _ = _measure(method, case, values, share, adaptive=False)
        false = course.false_order[-1], course.false_equal[-1]
        ratios = (needed / total, uniform / total) if share >= TINY_SHARE else (None, None)
        yield Outcome(case.name, method, len(case.means), share, *false, *ratios)


def _shifted(name: str, noise: Draw, means: Floats, margin: float) -> Case:
    """Agents with the same noise, of mean 0 and standard deviation 1."""
    return Case(name, means, margin, lambda random, shape: noise(random, shape) + means[:, None])


def _lognormal(random: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
    deviation = math.sqrt(math.exp(2.25) * (math.exp(2.25) - 1))
    return (np.exp(1.5 * random.standard_normal(shape)) - math.exp(1.125)) / deviation


def _levels(name: str, levels: tuple[float, ...], chances: Floats, margin: float) -> Case:
    """Returns with a few values; `chances` has shape (agents, values)."""
    above = chances.cumsum(axis=1)[:, None, :-1]

    def draw(random: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
        return np.array(levels)[(random.random(shape)[..., None] > above).sum(axis=-1)]

    return Case(name, chances @ np.array(levels), margin, draw, (0, 1))


def _crashes() -> Case:
    """Every other agent crashes in 2 % of its episodes; the others have the same mean and hardly vary."""

    def draw(random: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
        steady = random.uniform(0.97, 0.99, shape)
        steady[:, ::2] = random.random(steady[:, ::2].shape) >= 0.02
        return steady

    return Case("crash in 2 %, or steady; equal means", np.full(AGENTS, 0.98), 0.05, draw, (0, 1))


def _stored(name: str, returns: list[list[float]], bounds: list[float] | None) -> Case:
    """Episodes drawn from recorded ones, with replacement; the margin is half of a standard deviation."""
    kept = [np.array(agent) for agent in returns]
    margin = float(np.mean([agent.std() for agent in kept])) / 2

    def draw(random: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
        return np.stack([random.choice(agent, (shape[0], shape[2])) for agent in kept], axis=1)

    return Case(name, np.array([agent.mean() for agent in kept]), margin, draw, (bounds[0], bounds[1]) if bounds else None)


def cases() -> Iterator[Case]:
    """All cases; margins are half of a standard deviation where some agents are equal."""
    normal, exponential = np.random.Generator.standard_normal, lambda random, shape: random.standard_exponential(shape) - 1
    step, equal = np.arange(AGENTS, dtype=float), np.zeros(AGENTS)
    yield _shifted("normal, 0.1 sd apart, no margin", normal, 0.1 * step, 0)
    yield _shifted("normal, 0.1 sd apart", normal, 0.1 * step, 0.5)
    yield _shifted(HALF_APART, normal, 0.5 * step, 0)
    yield _shifted("normal, 1 sd apart, no margin", normal, step, 0)
    yield _shifted("normal, two pairs equal, others 1 sd apart", normal, np.array([0, 0, 1, 2, 3, 4, 5, 5.0]), 0.5)
    yield _shifted("normal, equal", normal, equal, 0.5)
    yield _shifted("exponential, 0.5 sd apart, no margin", exponential, 0.5 * step, 0)
    yield _shifted("exponential, equal", exponential, equal, 0.5)
    yield _shifted("lognormal 1.5, 0.5 sd apart, no margin", _lognormal, 0.5 * step, 0)
    yield _shifted("lognormal 1.5, equal", _lognormal, equal, 0.5)
    spread, half = np.linspace(0.05, 0.95, AGENTS), np.full(AGENTS, 0.5)
    for name, chance, margin in (("0.05 to 0.95, no margin", spread, 0), ("equal", half, 0.25)):
        yield _levels(f"Bernoulli, {name}", (0, 1), np.stack([1 - chance, chance], axis=1), margin)
    for name, chance, margin in (("apart, no margin", np.linspace(0.02, 0.9, AGENTS), 0), ("equal", equal + 0.1, 0.1)):
        chances = np.stack([1 - chance, 0.8 * chance, 0.2 * chance], axis=1)
        yield _levels(f"ties at three values, {name}", (0, 0.5, 1), chances, margin)
    yield _crashes()
    recorded = json.loads(RECORDED.read_text())
    for task, record in recorded.items():
        agents = record["agents"]
        yield _stored(f"stored: {task}, {len(agents)} agents", list(agents.values()), record["bounds"])
    swing = recorded["Acrobot-v1"]["agents"]["acrobot-swing"]
    yield _stored("stored: Acrobot-v1, 8 copies", [swing] * AGENTS, recorded["Acrobot-v1"]["bounds"])


def measured_outcomes(boards: int) -> list[Outcome]:
    """Everything, with fixed seeds."""
    return [outcome for seed, case in enumerate(cases()) for outcome in outcomes(case, boards, seed)]


def rows(boards: int) -> list[Row]:
    """The three conditions that a feature would have to meet, for each method."""
    return _conditions(measured_outcomes(boards))


def _conditions(played: list[Outcome]) -> list[Row]:
    table = []
    for method in METHODS:
        all_cases = [outcome for outcome in played if outcome.method == method]
        worst = max(all_cases, key=lambda outcome: outcome.false_order)
        few = sum(outcome.false_order <= ALPHA for outcome in all_cases)
        note = f"{few} of {len(all_cases)} cases; worst: {worst.case}"
        table.append(Row(f"{method}: boards with a false order", f"{worst.false_order:.1%}", "≤ 5 %", note))
        compared = [outcome for outcome in all_cases if outcome.ratio is not None]
        ratios = [outcome.ratio for outcome in compared if outcome.ratio is not None]
        note = f"in {sum(ratio <= 0.5 for ratio in ratios)} of {len(ratios)} cases; highest {_in_words(max(ratios))}"
        table.append(
            Row(f"{method}: episodes over fixed {FIXED}", f"median {_in_words(float(np.median(ratios)))}", "≤ 0.5", note)
        )
        # Two agents play on together or not at all; where both need more episodes than there are, neither is better.
        pairs = [(o.ratio, o.uniform) for o in compared if o.agents > 2 and o.ratio is not None and o.uniform is not None]
        pairs = [pair for pair in pairs if math.isfinite(min(pair))]
        better = sum(ratio < uniform for ratio, uniform in pairs)
        note = f"{better} of {len(pairs)} cases with more than two agents"
        table.append(Row(f"{method}: fewer episodes than uniform", f"{better / len(pairs):.0%}", "≥ 80 %", note))
    share = next(outcome.fixed for outcome in played if outcome.case == HALF_APART)
    note = f"where fixed settles {share:.0%} of normal neighbours; 0.5 is possible from {_least_power():.1%} on"
    return [*table, Row("any test: least episodes over fixed", f"{least_ratio(share):.2f}", "≤ 0.5", note)]


def least_ratio(power: float) -> float:
    """Episodes over fixed that no sequential test can go below, for normal neighbours told apart as often.

    The sequential probability ratio test, told both means and the variance, needs the fewest on average (Wald & Wolfowitz,
    Annals of Mathematical Statistics 19, 1948); its number by Wald's approximation, without overshoot. An agent plays at
    least as long as each of its two pairs needs.
    """
    side, miss = ALPHA / (AGENTS - 1) / 2, 1 - power
    sequential = 2 * (power * math.log(power / side) + miss * math.log(miss / (1 - side)))
    return float(sequential / (ndtri(1 - side) + ndtri(power)) ** 2)


def _least_power() -> float:
    """The smallest power at which half of the fixed episodes could do."""
    return next(power for power in np.arange(0.5, 1, 0.001) if least_ratio(power) <= 0.5)


def _in_words(ratio: float | None) -> str:
    if ratio is None:
        return "–"
    return f"{ratio:.2f}" if math.isfinite(ratio) else "not reached"


def main() -> None:
    """Print every case, and the three conditions."""
    played = measured_outcomes(400)
    table = Table(
        "case", "method", "settled by fixed", "false order", "false equal", "episodes / fixed", "the same, uniform"
    )
    for o in played:
        shares = (f"{100 * share:.1f} %" for share in (o.fixed, o.false_order, o.false_equal))
        table.add_row(o.case, o.method, *shares, _in_words(o.ratio), _in_words(o.uniform))
    conditions = Table("condition", "measured", "target", "note")
    for row in _conditions(played):
        conditions.add_row(*row)
    console = Console(width=180)
    console.print(table)
    console.print(conditions)


if __name__ == "__main__":
    main()
