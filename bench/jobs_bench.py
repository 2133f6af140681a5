"""Evaluations side by side: measured on this machine, and simulated with recorded costs for machines with more processors.

`python -m bench.jobs_bench [BOARD]` wants a board whose results are recorded, such as after `pullrank demo`.
The simulation hands out evaluations as `run_jobs` does. What the command's own process does for each is measured first: that
is the serial part, during which it starts nothing.
"""

import heapq
import os
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from evaluator.host.deterministic import run_pinned
from evaluator.host.progress import ReportProgress
from evaluator.model.records.parse import parse_result
from evaluator.model.records.result import Result
from leaderboard.core.store import ResultStore
from scripts.repository.checkout import open_checkout
from scripts.runs.local_evaluator import RunOptions, evaluate_locally, open_evaluator
from scripts.runs.parallel_jobs import FreeResources, ParallelJob, run_jobs

PROCESSORS = (1, 2, 4, 8, 64)
REPEATED = 100


def serial_seconds(results: list[tuple[Result, bytes | None]]) -> float:
    """Processor seconds of the command's own process for each evaluation: handing out, receiving, recording."""

    def job(played: tuple[Result, bytes | None]) -> ParallelJob[tuple[Result, bytes | None]]:
        def play(report: ReportProgress) -> tuple[Result, bytes | None]:
            return played

        return ParallelJob(title="", play=play, processors=1, memory_mib=1)

    free = FreeResources(processors=FreeResources.here().processors, memory_mib=1 << 20)
    with tempfile.TemporaryDirectory() as folder:
        store = ResultStore(results=Path(folder, "results"), traces=Path(folder, "traces"))
        begun = time.process_time()
        for _, (result, trace) in run_jobs([job(played) for played in results], 2, quiet=True, free=free):
            store.write(result, trace)
        return (time.process_time() - begun) / len(results)


def makespan(seconds: list[float], processors: int, serial: float) -> float:
    """Seconds until the last of these evaluations has ended, on that many processors."""
    owner, free = 0.0, [0.0] * processors
    heapq.heapify(free)
    for each in seconds:
        owner = max(owner, heapq.heappop(free)) + serial
        heapq.heappush(free, owner + each)
    return max(free)


def measured(board: Path, repeats: int = 2) -> dict[int, float]:
    """Seconds for the board's evaluations of everybody who plays alone, one at a time and two."""
    checkout = open_checkout(board)
    evaluator = open_evaluator(checkout, "docker")
    wanted = [
        (entry, task)
        for entry in checkout.read_all()[0]
        for task in checkout.challenge.tasks
        if task.game is None and task.script is None and entry.folder.submission.plays(task)
    ]
    found: dict[int, float] = {}
    for _ in range(repeats):
        for at_once in (1, 2):
            options = RunOptions(store=None, quiet=True, again=True, at_once=at_once)
            begun = time.monotonic()
            count = len(list(evaluate_locally(evaluator, wanted, options)))
            taken = time.monotonic() - begun
            print(f"{count} evaluations, {at_once} at once: {taken:.1f} s, load {os.getloadavg()[0]:.1f}")
            found[at_once] = min(taken, found.get(at_once, taken))
    return found


def main() -> None:
    """Print the tables."""
    run_pinned(os.environ, ["-m", "bench.jobs_bench", *sys.argv[1:]])
    board = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    store = open_checkout(board).store
    played = []
    for path in store.files():
        trace = store.trace_of(path)
        played.append((parse_result(path.read_bytes()), trace.read_bytes() if trace.exists() else None))
    if not played:
        sys.exit("Nothing is recorded here; run 'pullrank demo' first.")
    serial = serial_seconds(played * 5)
    seconds = sorted((result.cost.wall_seconds for result, _ in played), reverse=True)
    mean = sum(seconds) / len(seconds)
    print(f"{len(played)} evaluations of {mean:.2f} s; serial: {1000 * serial:.1f} ms each, {serial / (serial + mean):.2%}")
    table = Table("processors", "faster, this board", "the limit", f"faster, {REPEATED} such boards")
    large = sorted(seconds * REPEATED, reverse=True)
    for count in PROCESSORS:
        small, limit = (makespan(seconds, count, each) for each in (serial, 0.0))
        row = (makespan(seconds, 1, serial) / small, makespan(seconds, 1, 0.0) / limit)
        many = makespan(large, 1, serial) / makespan(large, count, serial)
        table.add_row(str(count), *(f"{ratio:.2f}" for ratio in (*row, many)))
    Console().print(table)
    times = measured(board)
    print(f"measured here, two at once: {times[1] / times[2]:.2f} times the evaluations a minute")


if __name__ == "__main__":
    main()
