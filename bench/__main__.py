"""`make bench`: prints a table and writes build/bench.json."""

import json
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import channel_bench, game_bench, rank_bench, ratings_bench, remote_bench, site_bench, start_bench
from evaluator.host.deterministic import run_pinned
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox, select_sandbox
from scripts.repository.checkout import base_image

GOALS = {
    "(b) one lane, rule": 0.2,
    "(c) lock-step, rule": 0.95,
    "(c) lock-step, MLP": 1.35,
    "(c) gVisor, rule": 0.65,
    "verify, one core": 0.9,
    "remote environment, one / bare": 0.1,
    "remote make_vec, 64 / bare": 0.6,
    "remote environment, one / gRPC": 10,
    "duel, act_batch / bare": 0.9,
    "duel, memoryless / bare": 0.9,
    "duel, act_batch / kaggle": 30,
    "duel, memoryless / kaggle": 30,
    "rate 2,000 players, 1,000,000 matches, 10,000 pairings, seconds": 10,
    "rate 2,000 players, 1,000,000 matches, 1,000,000 pairings, seconds": 10,
    "rank 10,000 entries × 8 tasks, seconds": 8,
    "site of 10,000 agents × 8 tasks, seconds": 45,
    "site of 10,000 agents × 8 tasks, MiB of memory": 1024,
    "site of 10,000 agents × 8 tasks, MiB of site": 476,
    "site of 10,000 agents × 8 tasks, kB gzipped of a task's page": 200,
    "site of 10,000 agents × 8 tasks, ms to sort": 100,
    "site, time per agent, 10,000 / 1,000": 1.3,
}


def boxes() -> dict[str, SelectedSandbox]:
    """The sandboxes that are here."""
    found = {}
    for kind in ("docker", "gvisor"):
        try:
            found[kind] = select_sandbox(kind, base_image(os.environ), lambda line: None)
        except EngineError as error:
            print(f"without {kind}: {error}", file=sys.stderr)
    return found


def _ranking() -> dict[str, dict[str, float]]:
    """Seconds that ranking takes, one run per size and collector."""
    timings = rank_bench.run()["rank"]
    names = {"seconds": "seconds", "seconds_python_collector": "seconds with Python's garbage collector"}
    rows = {f"rank {t['entries']:,} entries × 8 tasks, {name}": t[key] for t in timings for key, name in names.items()}
    return {name: {"median": seconds, "min": seconds, "max": seconds} for name, seconds in rows.items()}


def _rating() -> dict[str, dict[str, float]]:
    """Seconds that ratings take, one run per field of players; the goal is the most they may take."""
    timings = ratings_bench.run()["ratings"]
    return {
        f"rate {t['players']:,} players, {t['matches']:,} matches, {t['pairings']:,} pairings, seconds": dict.fromkeys(
            ("median", "min", "max"), t["seconds"]
        )
        for t in timings
    }


def main() -> None:
    """Time everything."""
    run_pinned(os.environ, ["-m", "bench", *sys.argv[1:]])
    found = boxes()
    if "docker" not in found:
        sys.exit("The benchmark times the container; start an engine first.")
    figures = channel_bench.run(found) | game_bench.run(found) | remote_bench.run(found)
    figures |= start_bench.run() | _ranking() | _rating() | site_bench.run()
    table = Table("figure", "median", "min", "max", "goal", title="Ratios are to the bare loop of the same round")
    for name, figure in figures.items():
        form = "{:,.0f}" if figure["median"] > 100 else "{:.2f}"
        cells = (form.format(figure[column]) for column in ("median", "min", "max"))
        table.add_row(name, *cells, f"{GOALS[name]:g}" if name in GOALS else "")
    Console().print(table)
    target = Path("build/bench.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
