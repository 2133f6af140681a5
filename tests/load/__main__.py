"""`python -m tests.load --pull-requests 2000`: replays a popular board and prints what became of it."""

import argparse
import functools
import sys
import tempfile
import time
from pathlib import Path

from tests.load.board import CrowdedBoard, played_in_threads
from tests.load.checks import LoadReport, examine, print_report
from tests.load.population import make_population
from tests.workflows.engine import Expressions


def replay(
    place: Path,
    expressions: Expressions,
    *,
    pulls: int,
    commands: int,
    arriving: float,
    hours: float,
    seed: int,
    checked: int = 1,
    minutes: float = 1e9,
) -> LoadReport:
    """Let a population act on a fresh board, and look at what there is afterwards."""
    board = CrowdedBoard(place, expressions, checked=checked)
    try:
        population = make_population(pulls, seconds=arriving * 3600, commands=commands, seed=seed)
        begun = time.monotonic()
        board.enter(population, hours * 3600)
        for tenth in range(1, 10 * int(hours)):
            board.clock.at(tenth * 360, functools.partial(_say_progress, board, begun))
        with played_in_threads():
            board.clock.run(hours * 3600, lambda: time.monotonic() - begun > minutes * 60)
        return examine(board, population, time.monotonic() - begun)
    finally:
        board.close()


def _say_progress(board: CrowdedBoard, begun: float) -> None:
    merged = sum(pull.merged for pull in board.world.pulls.values())
    line = f"{board.clock.now / 3600:.1f} h: {len(board.numbers)} opened, {merged} merged, {len(board.asked)} requests"
    print(f"{line}, {time.monotonic() - begun:.0f} s here", file=sys.stderr, flush=True)


def main() -> None:
    """Parse, replay, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pull-requests", type=int, default=2000)
    parser.add_argument("--commands", type=int)
    parser.add_argument("--arriving", type=float, default=4.0, help="hours within which all are opened")
    parser.add_argument("--hours", type=float, default=6.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checked", type=int, default=20, help="how rarely GitHub's description is asked")
    parser.add_argument("--minutes", type=float, default=1e9, help="of this machine, after which it stops where it is")
    given = parser.parse_args()
    expressions = Expressions()
    commands = given.pull_requests // 10 if given.commands is None else given.commands
    try:
        with tempfile.TemporaryDirectory(prefix="pullrank-load-") as place:
            report = replay(
                Path(place), expressions, pulls=given.pull_requests, commands=commands, arriving=given.arriving,
                hours=given.hours, seed=given.seed, checked=given.checked, minutes=given.minutes,
            )  # fmt: skip
    finally:
        expressions.close()
    print_report(report)


if __name__ == "__main__":
    main()
