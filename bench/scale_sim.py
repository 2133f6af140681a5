"""The cost of a leaderboard with many agents: packs evaluations of measured lengths, prints rounds, balance and minutes.

`python -m bench.scale_sim [RESULTS]` reads the recorded wall seconds below RESULTS (results/ by default).
"""

import json
import random
import statistics
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from evaluator.model.config.challenge import Runners
from leaderboard.planning.pack_shards import REPLAY_SHARE, Capacity, pack_longest_first, round_minutes

AGENTS = (100, 1_000, 10_000, 100_000)
MACHINES = (20, 40, 60)
# A board that sets no runners.
CAPACITY = Capacity(at_once=Runners().at_once, shard_seconds=Runners().shard_seconds)
TRACE_BYTES = 87_000.0
PUBLISHERS = 4


@dataclass(frozen=True, kw_only=True)
class Cold:
    """A board on which nothing is recorded yet, played to the end."""

    agents: int
    """Entries."""
    evaluations: int
    """Entries times tasks."""
    rounds: int
    """Runs until nothing is left."""
    shards: int
    """Shards of the first round."""
    balance: float
    """The worst round's longest shard over its mean."""
    longest: float
    """Minutes of the longest shard."""
    minutes: dict[int, float]
    """Machines side by side to minutes until everything is recorded."""
    replay: float
    """Minutes of replay that the longest publish is expected to have, on GitHub's four processors."""
    planning: float
    """Seconds it took here to pack the first round."""


def measured(results: Path) -> dict[str, list[float]]:
    """Task to the wall seconds of its recorded evaluations."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for path in sorted(results.glob("*/*/*/*.json")):
        document = json.loads(path.read_bytes())
        seconds[document["task"]].append(document["cost"]["wall_seconds"])
    return dict(seconds)


def simulate(seconds: dict[str, list[float]], agents: int, chance: random.Random) -> Cold:
    """Every agent on every task: as long as one of the measured evaluations of that task, ± 30 %."""
    left = [chance.choice(seconds[task]) * chance.uniform(0.7, 1.3) for _ in range(agents) for task in seconds]
    evaluations = len(left)
    total = dict.fromkeys(MACHINES, 0.0)
    rounds, shards, balance, longest, planning, replay = 0, 0, 1.0, 0.0, 0.0, 0.0
    while left:
        begun = time.perf_counter()
        packing = pack_longest_first(left, CAPACITY, [TRACE_BYTES] * len(left))
        planning = planning or time.perf_counter() - begun
        rounds += 1
        shards = shards or len(packing.shards)
        balance = max(balance, max(packing.loads) / statistics.fmean(packing.loads))
        longest = max(longest, max(packing.loads) / 60)
        replay = max(replay, REPLAY_SHARE * sum(packing.loads) / PUBLISHERS / 60)
        for machines in MACHINES:
            total[machines] += round_minutes(packing, machines)
        left = [left[index] for index in packing.left]
    return Cold(
        agents=agents, evaluations=evaluations, rounds=rounds, shards=shards, balance=balance, longest=longest,
        minutes=total, replay=replay, planning=planning,
    )  # fmt: skip


def main() -> None:
    """Print the table."""
    seconds = measured(Path(sys.argv[1] if len(sys.argv) > 1 else "results"))
    console = Console()
    for task, values in seconds.items():
        print(f"{task}: {len(values)} evaluations, mean {statistics.fmean(values):.1f} s, longest {max(values):.1f} s")
    print(f"mean over tasks: {statistics.fmean(statistics.fmean(values) for values in seconds.values()):.2f} s")
    columns = ("agents", "evaluations", "rounds", "shards", "max/mean", "longest shard", "replay")
    table = Table(*columns, *(f"{machines} machines" for machines in MACHINES), "pack")
    for agents in AGENTS:
        cold = simulate(seconds, agents, random.Random(agents))
        hours = [f"{value / 60:,.1f} h" if value >= 90 else f"{value:,.0f} min" for value in cold.minutes.values()]
        table.add_row(
            f"{agents:,}", f"{cold.evaluations:,}", str(cold.rounds), str(cold.shards), f"{cold.balance:.3f}",
            f"{cold.longest:.1f} min", f"{cold.replay:.0f} min", *hours, f"{cold.planning:.2f} s",
        )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    main()
