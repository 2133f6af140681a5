"""How often the 95 % intervals of the overall leaderboard hold the truth, on simulated entries of eight tasks."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator

from bench.coverage_row import CoverageRow
from bench.rank_bench import result_of
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission import Submission
from evaluator.model.config.task import ReferenceScore, Task
from leaderboard.build_standings import build_standings
from leaderboard.core.arrays import Floats
from leaderboard.core.entry import Entry, Estimate

TASKS = 8
# Values of each task from which the true interquartile mean is computed.
TRUTH_VALUES = 200_000


def normal(random: Generator, size: tuple[int, ...], task: int) -> Floats:
    """Normalised returns with mean 0.2 to 1.6 and standard deviation 0.1 to 0.45; rows are tasks where `size` has two."""
    return random.normal(0.2 + 0.2 * task, 0.1 + 0.05 * task, size=size)


def exponential(random: Generator, size: tuple[int, ...], task: int) -> Floats:
    """Normalised returns that are exponential with means as those of `normal`."""
    return random.exponential(0.2 + 0.2 * task, size=size)


def rows(entries: int) -> Iterator[CoverageRow]:
    """The coverage of the overall mean and of the IQM, for 100 and 10 episodes of each task."""
    for draw, mean_target in ((normal, 93), (exponential, 90)):
        random = np.random.default_rng(16)
        pooled = np.sort(np.concatenate([draw(random, (TRUTH_VALUES,), task) for task in range(TASKS)]))
        truths = (0.9, float(pooled[len(pooled) // 4 : -len(pooled) // 4].mean()))
        for episodes in (100, 10):
            measured = _estimates(draw, random, episodes, entries)
            for name, truth, target, chosen in zip(
                ("mean", "IQM"), truths, (mean_target, 90), zip(*measured, strict=True), strict=True
            ):
                covered = np.mean([estimate.low <= truth <= estimate.high for estimate in chosen])
                width = np.median([estimate.high - estimate.low for estimate in chosen])
                case = f"interval of the overall {name}: {draw.__name__}, {TASKS} tasks of {episodes} episodes"
                yield CoverageRow(case, 100 * float(covered), f"≥ {target}", f"{width:.3f}")


def _estimates(
    draw: Callable[[Generator, tuple[int, ...], int], Floats], random: Generator, episodes: int, entries: int
) -> list[tuple[Estimate, Estimate]]:
    """The overall mean and the IQM of entries with the same true returns."""
    random_score, reference = ReferenceScore(score=0, source="bench"), ReferenceScore(score=1, source="bench")
    tasks = tuple(Task(id=f"task-{i}", episodes=episodes, random=random_score, reference=reference) for i in range(TASKS))
    submission = Submission(name="Bench", algorithm="none")
    named = [Entry(login=f"user{i}", agent="agent", submission=submission, digest=f"{i:064x}") for i in range(entries)]
    results = [
        result_of(entry, task, returns.tolist())
        for index, task in enumerate(tasks)
        for entry, returns in zip(named, draw(random, (entries, episodes), index), strict=True)
    ]
    standings = build_standings(Challenge(title="Bench", season="1", tasks=tasks), named, results, official=True)
    return [(row.estimate, row.iqm) for row in standings.overall]
