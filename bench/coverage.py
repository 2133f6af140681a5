"""How often intervals, ranks and comparisons hold in simulated boards whose truth is known.

`python -m bench.coverage` prints the table for 10,000 boards a case; with `--page` it also writes site/pages/coverage.md.
The seeds are fixed, so the table is the same each time.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench import optional_stopping, overall_coverage, rating_coverage, sequential_sampling
from bench.coverage_row import CoverageRow
from leaderboard.core.arrays import Floats
from leaderboard.scoring.bootstrap import Bounds
from leaderboard.scoring.intervals import EstimateArrays, estimates, student_quantile
from leaderboard.scoring.metrics import EpisodeMetric
from leaderboard.scoring.ranking import RankInterval, rank_intervals

BOARDS = 10_000
AGENTS = 8
EPISODES = 100
PAGE = Path("site/pages/coverage.md")

Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]


def mean_of(returns: Floats, bounds: Bounds = None) -> EstimateArrays:
    """Estimates by the mean; returns have shape (entries, episodes)."""
    return estimates(returns.tolist(), EpisodeMetric(id="coverage", score="mean", bounds=bounds))


def _normal(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return random.normal(size=shape)


def _exponential(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return random.exponential(size=shape)


def _lognormal(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return random.lognormal(sigma=1.5, size=shape)


def _pareto(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return random.pareto(2.5, size=shape)


def _crashes(chance: float) -> Draw:
    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        return np.where(random.random(shape) < chance, 0.0, 500.0)

    return draw


# Case, how returns are drawn, their true mean, episodes, bounds, and the coverage to reach in per cent.
SCORES: tuple[tuple[str, Draw, float, int, Bounds, float], ...] = (
    ("normal, 5 episodes", _normal, 0, 5, None, 93),
    ("normal, 10 episodes", _normal, 0, 10, None, 93),
    ("normal, 20 episodes", _normal, 0, 20, None, 93),
    ("normal, 100 episodes", _normal, 0, 100, None, 93),
    ("exponential, 5 episodes", _exponential, 1, 5, None, 91),
    ("exponential, 10 episodes", _exponential, 1, 10, None, 92),
    ("lognormal with σ = 1.5, 100 episodes", _lognormal, math.exp(1.5**2 / 2), 100, None, 89),
    ("Pareto with α = 2.5, 100 episodes", _pareto, 1 / 1.5, 100, None, 91),
    ("a crash in 1 % of 100 episodes, bounds stated", _crashes(0.01), 495, 100, (0, 500), 93),
    ("a crash in 2 % of 100 episodes, bounds stated", _crashes(0.02), 490, 100, (0, 500), 93),
)


def score_rows(boards: int) -> Iterator[CoverageRow]:
    """How often the interval of a score holds the true mean, and its median width beside Student's."""
    for number, (case, draw, truth, episodes, bounds, target) in enumerate(SCORES):
        returns = draw(np.random.default_rng([1, number]), (boards, episodes))
        measured = mean_of(returns, bounds)
        holds = (measured.low <= truth) & (truth <= measured.high)
        students = 2 * student_quantile(episodes - 1, 0.975) * np.median(returns.std(axis=1, ddof=1)) / math.sqrt(episodes)
        width = float(np.median(measured.high - measured.low))
        beside = f"{width / students:.2f} × the t interval" if students else f"{width:.3g}"
        yield CoverageRow(f"interval of a score: {case}", 100 * float(holds.mean()), f"≥ {target:g}", beside)


def _ranked(random: np.random.Generator, means: Sequence[float], boards: int) -> Iterator[list[RankInterval]]:
    """The ranks of each board; each agent's returns are normal with deviation 1."""
    count = len(means)
    at_once = max(1, 200_000 // (count * EPISODES))
    for start in range(0, boards, at_once):
        size = min(at_once, boards - start)
        returns = random.normal(size=(size, count, EPISODES)) + np.array(means)[:, np.newaxis]
        measured = mean_of(returns.reshape(-1, EPISODES))
        for board in range(size):
            rows = slice(board * count, (board + 1) * count)
            yield rank_intervals(EstimateArrays(*(column[rows] for column in measured)))


def rank_rows(boards: int) -> Iterator[CoverageRow]:
    """Rank intervals and the leader's mark among equal agents, and what is told apart among different ones."""
    for count in (8, 20, 50):
        ranks = [rank for board in _ranked(np.random.default_rng([2, count]), [0.0] * count, boards) for rank in board]
        low, high = (np.array([getattr(rank, end) for rank in ranks]) for end in ("rank_low", "rank_high"))
        width = f"{np.median(high - low) + 1:g} places"
        holds = 100 * float(((low == 1) & (high == count)).mean())
        yield CoverageRow(f"rank interval of an agent among {count} equal agents holds all places", holds, "≥ 94", width)
        marked = 100 * float(np.mean([rank.with_leader for rank in ranks]))
        yield CoverageRow(f"an agent that is truly among the best of {count} keeps the leader’s mark", marked, "≥ 94", width)
    means = [0.1 * number for number in range(AGENTS)]
    ranks = [rank for board in _ranked(np.random.default_rng([2, 1]), means, boards) for rank in board]
    widths = np.array([rank.rank_high - rank.rank_low for rank in ranks])
    power = 100 * (1 - float(widths.mean()) / (AGENTS - 1))
    case = f"means 0.1 deviations apart, {AGENTS} agents: pairs told apart in rank intervals"
    yield CoverageRow(case, power, "≥ 26", f"{np.median(widths) + 1:g} places")


def table(boards: int) -> list[CoverageRow]:
    """All cases."""
    return [
        *score_rows(boards),
        *overall_coverage.rows(boards),
        *rank_rows(boards),
        *rating_coverage.rows(boards),
        *optional_stopping.rows(boards),
    ]


PAGE_TEXT = """# Coverage

How often the intervals and ranks contain the true value, in simulated boards where it is known: {boards:,} boards for
each case, fixed seeds, intervals of 95 %. `python -m bench.coverage --page` writes this page, with the functions that
compute the site. The last rows are about [strategies](#strategies) of participants. [How ranks are computed](ranks.md)

| Case | Measured | To reach | Median width |
|---|---|---|---|
{lines}

## Strategies

A participant enters several versions that are equally good, sees each score, and keeps one. *Return*: try twelve
versions, then bring back the best. *Stop when lucky*: replace the version until a score is 1.6 standard errors above
the truth (*very lucky*: 2.2), at most twenty times. *Stop when better*: until the board calls it better than an equal
opponent. *Alternate*: two versions take turns until one looks lucky. *Parallel folders*: enter twenty versions, keep
the best.

The live interval and the comparison are those of the board before the season ends. The final score is that of one more
evaluation of the version that is left, on new seeds, so its gain is 0 by construction. Where twenty copies *all stand
at the end*, all are evaluated once more, and the one with the best live score holds their owner's only place, whatever
its final score is.

## Fewer episodes by stopping early: tried, and not built

{study}

`python -m bench.sequential_sampling` prints every case.
"""


def page(rows: Sequence[CoverageRow], boards: int) -> str:
    """The page of the site, in Markdown."""
    lines = "\n".join(f"| {row.case} | {row.measured:.1f} {row.unit} | {row.target} | {row.width} |" for row in rows)
    _, _, study = (sequential_sampling.__doc__ or "").partition("\n\n")
    return PAGE_TEXT.format(boards=boards, lines=lines, study=study.strip())


def main() -> None:
    """Print the table; write the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=BOARDS, help="simulated boards a case")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE}")
    arguments = parser.parse_args()
    rows = table(arguments.boards)
    printed = Table("case", "measured", "to reach", "median width", title=f"{arguments.boards:,} boards a case")
    for row in rows:
        printed.add_row(
            row.case, f"{row.measured:.1f} {row.unit}", row.target, row.width, style=None if row.is_reached else "red"
        )
    Console(width=150).print(printed)
    if arguments.page:
        PAGE.write_text(page(rows, arguments.boards))


if __name__ == "__main__":
    main()
