"""`python -m tests.load --pull-requests 2000`: replays a popular board and prints what became of it."""

import argparse
import tempfile
import time
from pathlib import Path

from tests.load.board import CrowdedBoard, played_in_threads
from tests.load.checks import LoadReport, examine, print_report
from tests.load.population import make_population
from tests.workflows.engine import Expressions


def replay(
    place: Path, expressions: Expressions, *, pulls: int, commands: int, arriving: float, hours: float, seed: int
) -> LoadReport:
    """Let a population act on a fresh board, and look at what there is afterwards."""
    board = CrowdedBoard(place, expressions)
    try:
        population = make_population(pulls, seconds=arriving * 3600, commands=commands, seed=seed)
        begun = time.monotonic()
        board.enter(population, hours * 3600)
        with played_in_threads():
            board.clock.run(hours * 3600)
        return examine(board, population, time.monotonic() - begun)
    finally:
        board.close()


def main() -> None:
    """Parse, replay, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pull-requests", type=int, default=2000)
    parser.add_argument("--commands", type=int)
    parser.add_argument("--arriving", type=float, default=4.0, help="hours within which all are opened")
    parser.add_argument("--hours", type=float, default=6.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    expressions = Expressions()
    commands = given.pull_requests // 10 if given.commands is None else given.commands
    try:
        with tempfile.TemporaryDirectory(prefix="pullrank-load-") as place:
            report = replay(
                Path(place), expressions, pulls=given.pull_requests, commands=commands, arriving=given.arriving,
                hours=given.hours, seed=given.seed,
            )  # fmt: skip
    finally:
        expressions.close()
    print_report(report)


if __name__ == "__main__":
    main()
