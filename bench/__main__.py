"""`make bench`: prints a table and writes build/bench.json."""

import json
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import channel_bench, rank_bench, start_bench
from evaluator.host.choose import Chosen, choose
from evaluator.host.container import EngineError
from evaluator.host.pins import run_pinned
from scripts.board import base_image

GOALS = {
    "(b) one lane, rule": 0.12,
    "(c) lock-step, rule": 0.95,
    "(c) lock-step, MLP": 1.35,
    "(c) gVisor, rule": 0.65,
    "verify, one core": 0.9,
}


def boxes() -> dict[str, Chosen]:
    """The sandboxes that are here."""
    found = {}
    for kind in ("docker", "gvisor"):
        try:
            found[kind] = choose(kind, base_image(os.environ), lambda line: None)
        except EngineError as error:
            print(f"without {kind}: {error}", file=sys.stderr)
    return found


def _ranking() -> dict[str, dict[str, float]]:
    """Seconds that ranking takes, one run per size."""
    timings = rank_bench.run()["rank"]
    rows = {f"rank {t['entries']:,} entries × 8 tasks, seconds": t["seconds"] for t in timings}
    return {name: {"median": seconds, "min": seconds, "max": seconds} for name, seconds in rows.items()}


def main() -> None:
    """Time everything."""
    run_pinned(os.environ, ["-m", "bench", *sys.argv[1:]])
    found = boxes()
    if "docker" not in found:
        sys.exit("The benchmark times the container; start an engine first.")
    figures = channel_bench.run(found) | start_bench.run() | _ranking()
    table = Table("figure", "median", "min", "max", "goal", title="CartPole-v1, 100 episodes; ratios to the bare loop")
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
