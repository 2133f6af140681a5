"""How long ranking takes: synthetic boards of 100, 1,000 and 10,000 entries on 8 tasks of 100 episodes.

Each with the garbage collector as the command sets it, and as Python does.
"""

import gc
import json
import time
from typing import Any

import numpy as np

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission import Submission
from evaluator.model.config.task import ReferenceScore, Task
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Cost, Provenance, SandboxKind, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.build_standings import build_standings
from leaderboard.core.entry import Entry
from leaderboard.scoring.significance import row_counts
from scripts.cli import COLLECTOR

SIZES = (100, 1_000, 10_000)
TASKS = 8
EPISODES = 100


def challenge() -> Challenge:
    """Four tasks of bounded and four of unbounded returns; two of them are scored by IQM."""
    anchors = {"random": ReferenceScore(score=20, source="bench"), "reference": ReferenceScore(score=400, source="bench")}
    tasks = [
        Task(
            id=f"task-{i}",
            episodes=EPISODES,
            score="iqm" if i % 4 == 3 else "mean",
            bounds=(0, 500) if i % 2 else None,
            **anchors,
        )
        for i in range(TASKS)
    ]
    return Challenge(title="Bench", season="1", tasks=tuple(tasks))


def board(rules: Challenge, count: int) -> tuple[list[Entry], list[Result]]:
    """Entries of growing skill, with a result each on every task; built without validation, for speed."""
    random = np.random.default_rng(1)
    submission = Submission(name="Bench", algorithm="none")
    entries = [Entry(login=f"user{i}", agent="agent", submission=submission, digest=f"{i:064x}") for i in range(count)]
    skill = random.uniform(0, 500, size=count)
    results = [
        result_of(entry, task, np.clip(random.normal(mean, 60, size=EPISODES), 0, 500).round(2).tolist())
        for task in rules.tasks
        for entry, mean in zip(entries, skill, strict=True)
    ]
    return entries, results


def result_of(entry: Entry, task: Task, returns: list[float]) -> Result:
    """A result that counts on the official leaderboard; built without validation, for speed."""
    return Result.model_construct(
        key=entry.digest,
        tier=Tier.OFFICIAL,
        task=task.id,
        task_digest=task.digest(),
        login=entry.login,
        agent=entry.agent,
        submission_digest=entry.digest,
        season="1",
        beacon="0" * 40,
        sandbox=SandboxKind.DOCKER,
        runtime_digest="0" * 64,
        verdict=Verdict.OK,
        returns=tuple(returns),
        limits=Limits(),
        cost=Cost(),
        provenance=Provenance(evaluated_at="2026-01-01T00:00:00Z"),
        self_sha256="0" * 64,
    )


def run() -> dict[str, Any]:
    """Time `standings` on boards of growing size.

    Returns:
        The settings and, for each number of entries, seconds of wall time with either collector, and seconds per entry;
        then what counting the significant pairs takes.
    """
    rules = challenge()
    timings = []
    for count in SIZES:
        entries, results = board(rules, count)
        row: dict[str, float] = {"entries": count}
        for name, thresholds in {"seconds": COLLECTOR, "seconds_python_collector": gc.get_threshold()}.items():
            before = gc.get_threshold()
            gc.set_threshold(*thresholds)
            begun = time.perf_counter()
            build_standings(rules, entries, results, official=True)
            row[name] = round(time.perf_counter() - begun, 3)
            gc.set_threshold(*before)
        timings.append(row | {"seconds_per_entry": round(row["seconds"] / count, 6)})
    return {"tasks": TASKS, "episodes": EPISODES, "rank": timings, "count_marks_microseconds": _counting()}


def _counting(rounds: int = 500) -> dict[str, float]:
    """Microseconds that `row_counts` and numpy's sum take for the pairs of a few entries and their neighbours."""
    marks = np.random.default_rng(1).random((16, 3000)) < 0.5
    taken = {}
    for name, count in {"row_counts": row_counts, "sum": lambda each: each.sum(axis=1)}.items():
        begun = time.process_time()
        for _ in range(rounds):
            count(marks)
        taken[name] = round(1e6 * (time.process_time() - begun) / rounds, 1)
    return taken


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
