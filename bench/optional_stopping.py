"""What a participant gains by choosing when to stop: versions that are all equal, tried by four strategies.

A strategist's versions all have normal returns with mean 0 and deviation 1. After each draw the strategist sees the score,
as on the board, and decides. The result is scored as the board does it: draws of one version are pooled, and intervals
depend on the number of tries. Copies that all stand at the end are entered into whole leaderboards, with a live and a final
draw each, and what is looked at is the place of their owner in the final ranks.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.coverage_row import CoverageRow
from bench.rank_bench import result_of
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission import Submission
from evaluator.model.config.task import Task
from leaderboard.build_standings import build_standings
from leaderboard.core.arrays import Floats
from leaderboard.core.entry import Entry
from leaderboard.core.standings import FinalDraws, TaskRow
from leaderboard.scoring.intervals import EstimateArrays, estimates, normal_quantiles, significance_level
from leaderboard.scoring.metrics import EpisodeMetric
from leaderboard.scoring.significance import compare_all

EPISODES = 100
# A strategist stops at a score that exceeds the truth by this many standard errors of one draw.
LUCKY = 1.6
TURNS = 20
# Owners of one simulated leaderboard: all of them are independent, and one is faster than many.
OWNERS_AT_ONCE = 250
MEAN = EpisodeMetric(id="stopping", score="mean", bounds=None)


class Standing(NamedTuple):
    """What is left on main when a strategist stops."""

    draws: tuple[int, ...]
    """Numbers of the draws of the version that stays; they are pooled."""
    tries: int


Strategy = Callable[[Floats, float], Standing]
"""Chooses among the scores of successive draws, shape (draws,), knowing an opponent's score; in standard errors."""


def honest(_: Floats, __: float) -> Standing:
    """One version, one draw."""
    return Standing((0,), 1)


def come_back(scores: Floats, _: float, versions: int = 12) -> Standing:
    """Try twelve versions, one after the other, then bring back the best, which draws again."""
    return Standing((int(scores[:versions].argmax()), versions), versions + 1)


def stop_when_lucky(scores: Floats, _: float, lucky: float = LUCKY) -> Standing:
    """Replace the version until a score is lucky, at most twenty times."""
    return _first(scores[:TURNS] > lucky)


def stop_when_very_lucky(scores: Floats, _: float) -> Standing:
    """The same, with a score that exceeds the truth by more than the usual interval does."""
    return stop_when_lucky(scores, _, 2.2)


def stop_when_better(scores: Floats, opponent: float) -> Standing:
    """Replace the version until the board calls it better than the opponent, at most twenty times."""
    needed = normal_quantiles(1 - significance_level(np.arange(1.0, TURNS + 1)))
    return _first((scores[:TURNS] - opponent) / np.sqrt(2) > needed)


def _first(hits: npt.NDArray[np.bool_]) -> Standing:
    last = int(hits.argmax()) if hits.any() else len(hits) - 1
    return Standing((last,), last + 1)


def alternate(scores: Floats, _: float) -> Standing:
    """Two versions take turns; stop when the pooled score of the one on main is lucky in its own standard errors."""
    for turn in range(TURNS):
        draws = tuple(range(turn % 2, turn + 1, 2))
        if scores[list(draws)].sum() / np.sqrt(len(draws)) > LUCKY:
            return Standing(draws, turn + 1)
    return Standing(draws, TURNS)


def parallel_folders(scores: Floats, _: float) -> Standing:
    """Enter twenty versions at once, and keep the best."""
    return Standing((int(scores[:TURNS].argmax()),), TURNS)


STRATEGIES: tuple[tuple[str, Strategy], ...] = (
    ("one version", honest),
    ("return", come_back),
    ("stop when lucky", stop_when_lucky),
    ("stop when very lucky", stop_when_very_lucky),
    ("stop when better", stop_when_better),
    ("alternate", alternate),
    ("parallel folders", parallel_folders),
)


def simulate(strategy: Strategy, boards: int, random: np.random.Generator) -> tuple[EstimateArrays, EstimateArrays]:
    """The live estimates of the strategists, one a board, and those of their opponents with one version as good."""
    opponents = estimates(random.normal(size=(boards, EPISODES)).tolist(), MEAN)
    pooled, tries = [], []
    for opponent in opponents.score.tolist():
        returns = random.normal(size=(TURNS, EPISODES))
        standing = strategy(returns.mean(axis=1) * np.sqrt(EPISODES), opponent * np.sqrt(EPISODES))
        pooled.append(returns[list(standing.draws)].ravel().tolist())
        tries.append(standing.tries)
    return estimates(pooled, MEAN, tries), opponents


def placed_copies(owners: int, random: np.random.Generator) -> Iterator[TaskRow]:
    """The row of each owner in the final ranks, of twenty copies that all stand at the end."""
    task = Task(id="stopping", episodes=EPISODES)
    submission = Submission(name="Bench", algorithm="none")
    for start in range(0, owners, OWNERS_AT_ONCE):
        entries, results = [], []
        for owner in range(start, min(start + OWNERS_AT_ONCE, owners)):
            returns = random.normal(size=(TURNS, 2, EPISODES)).tolist()
            for number, (live, final) in enumerate(returns):
                digest = f"{owner:032x}{number:032x}"
                entry = Entry(login=f"user{owner}", agent=f"copy{number}", submission=submission, digest=digest)
                entries.append(entry)
                results += [
                    result_of(entry, task, drawn).model_copy(update={"beacon": beacon})
                    for beacon, drawn in (("live", live), ("final", final))
                ]
        rules = Challenge(title="Bench", season="1", tasks=(task,))
        (board,) = build_standings(rules, entries, results, official=True, final=FinalDraws(beacon="final")).tasks
        yield from (row for row in board.rows if not row.is_unranked)


def rows_of_copies(boards: int) -> Iterator[CoverageRow]:
    """What copies that all stand at the end gain in the final ranks."""
    random, name = np.random.default_rng([3, len(STRATEGIES)]), "parallel folders, all standing at the end"
    placed = list(placed_copies(boards, random))
    measured = estimates([row.result.returns for row in placed], MEAN, [row.tries for row in placed])
    opponents = estimates(random.normal(size=(len(placed), EPISODES)).tolist(), MEAN)
    holds = 100 * float(((measured.low <= 0) & (measured.high >= 0)).mean())
    width = f"{np.median(measured.high - measured.low) * np.sqrt(EPISODES):.2f} standard errors"
    yield CoverageRow(f"{name}: the final interval holds the truth", holds, "≥ 93", width)
    yield CoverageRow(f"{name}: better than an equal opponent, falsely", _falsely_better(measured, opponents), "≤ 5")
    gain = float(measured.score.mean() * np.sqrt(EPISODES))
    yield CoverageRow(f"{name}: gain of the final score", gain, "≤ 0.1", unit="standard errors")


def _falsely_better(measured: EstimateArrays, opponents: EstimateArrays) -> float:
    """In how many per cent of pairs, each a board of its own, the first one is called better."""
    better = 0
    for pair in zip(zip(*measured, strict=True), zip(*opponents, strict=True), strict=True):
        better += int(compare_all(EstimateArrays(*map(np.array, zip(*pair, strict=True)))).worse[0])
    return 100 * better / len(measured.score)


def rows(boards: int) -> Iterator[CoverageRow]:
    """Coverage of the live interval, false claims against an equal, and the gain in the final ranks, by strategy."""
    for number, (name, strategy) in enumerate(STRATEGIES):
        random = np.random.default_rng([3, number])
        live, opponents = simulate(strategy, boards, random)
        gain = float(live.score.mean() * np.sqrt(EPISODES))
        holds = 100 * float(((live.low <= 0) & (live.high >= 0)).mean())
        width = f"{np.median(live.high - live.low) * np.sqrt(EPISODES):.2f} standard errors"
        yield CoverageRow(f"{name}: the live interval holds the truth", holds, "≥ 93", width)
        yield CoverageRow(f"{name}: better than an equal opponent, falsely", _falsely_better(live, opponents), "≤ 5")
        final = random.normal(size=(boards, EPISODES)).mean() * np.sqrt(EPISODES)
        yield CoverageRow(f"{name}: gain of the live score (not a rank)", gain, "", unit="standard errors")
        yield CoverageRow(f"{name}: gain of the final score", float(final), "≤ 0.1", unit="standard errors")
    yield from rows_of_copies(boards)
