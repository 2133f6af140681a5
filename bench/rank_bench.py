"""How long ranking takes: synthetic boards of 100, 1,000 and 10,000 entries on 8 tasks of 100 episodes."""

import json
import time
from typing import Any

import numpy as np

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission import Submission
from evaluator.model.config.task import ReferenceScore, Task
from evaluator.model.records.result import Cost, Provenance, Result, SandboxKind, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.build_standings import build_standings
from leaderboard.core.entry import Entry

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
        The settings and, for each number of entries, seconds of wall time and seconds per entry.
    """
    rules = challenge()
    timings = []
    for count in SIZES:
        entries, results = board(rules, count)
        begun = time.perf_counter()
        build_standings(rules, entries, results, official=True)
        seconds = time.perf_counter() - begun
        timings.append({"entries": count, "seconds": round(seconds, 3), "seconds_per_entry": round(seconds / count, 6)})
    return {"tasks": TASKS, "episodes": EPISODES, "rank": timings}


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
