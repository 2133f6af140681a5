"""A board with enough on it to sort, filter and page through."""

import random
from dataclasses import replace
from typing import Any

from evaluator.model.config.metric import Metric
from evaluator.model.config.moderation import Exclusion, Moderation, VerifiedEntry
from evaluator.model.config.task import ReferenceScore, Task
from evaluator.model.records.result import Result
from leaderboard.build_standings import build_standings
from leaderboard.core.entry import Entry
from leaderboard.core.standings import Standings
from leaderboard.site_context import SiteContext
from tests.leaderboard import make
from tests.leaderboard.pages import samples

AGENTS = 230
HOSTILE = "</td><img src=x onerror=alert(1)>"
NAMES = {0: "W" * 60, 1: "مرحبا بالعالم", 2: "🚀🚀 to the moon 🌕", 3: HOSTILE, 4: "=1+1"}
HILL = Task(
    id="ALE/Hill-v0",
    title="Hill",
    env="MountainCar-v0",
    episodes=20,
    random=ReferenceScore(score=-200, source="our random agent"),
    reference=ReferenceScore(score=-110, source="a threshold"),
    metrics=(
        Metric(name="Return", kind="mean_return", direction="higher", decimals=1),
        Metric(name="Length", kind="mean_length", direction="lower", decimals=2),
    ),
)
EMPTY = Task(id="Nobody-v0")


def entry(index: int) -> Entry:
    name, algorithm = NAMES.get(index, f"Agent {index:03}"), ["PPO", "DQN", HOSTILE][index % 3]
    made = samples.entry(f"agent-{index}", f"user-{index % 50}", name=name, algorithm=algorithm, baseline=index == 9)
    vouched = (
        VerifiedEntry(login=made.login, since="2026-01-01", who="host", why="known", link="https://example.org/2")
        if index == 5
        else None
    )
    return replace(made, verified=vouched)


def result(who: Entry, index: int, task: Task = HILL, day: int | None = None, **fields: Any) -> Result:
    chance = random.Random(index)
    returns = [round(chance.gauss(-100 - index / 2, 6), 2) for _ in range(task.episodes)]
    at = f"2026-{1 + (day or index) // 28 % 9:02}-{1 + (day or index) % 28:02}T12:00:00Z"
    cost = {"cpu_seconds": 1 + index / 7, "wall_seconds": 3, "peak_memory_bytes": 50 << 20, "steps": 1000}
    return make.result(
        who, returns, on=task, at=at, lengths=[index + 5] * len(returns), season="2026", **{"cost": cost, **fields}
    )


def board() -> tuple[Standings, SiteContext]:
    """230 ranked agents, and some of each kind that has no place."""
    entries = [entry(index) for index in range(AGENTS)]
    results = [result(who, index) for index, who in enumerate(entries)]
    earlier = replace(entries[1], digest=make.digest("earlier"))
    results.append(result(earlier, 200, day=1))
    bad = [samples.entry(f"broken-{index}", "zoe", name=f"Broken {index}") for index in range(2)]
    results += [make.result(who, on=HILL, season="2026", message=HOSTILE, at="2026-03-01T12:00:00Z") for who in bad]
    late = samples.entry("late", "carol", name="Late")
    out = samples.entry("copycat", "mallory", name="Copy")
    results.append(result(samples.entry("gone", "dave"), 30))
    ruled = Exclusion(login="mallory", since="2026-04-01", who="host", why=HOSTILE, link="https://example.org/1")
    standings = build_standings(
        samples.challenge(HILL, EMPTY), [*entries, *bad, late, out], results, official=True,
        moderation=Moderation(exclusions=(ruled,)),
    )  # fmt: skip
    return standings, replace(samples.CONTEXT, results=tuple(results))
