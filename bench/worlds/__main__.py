"""`python -m bench.worlds`: measures every cell, prints a table, and writes build/worlds.json and the page."""

import argparse
import itertools
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from bench.worlds.cells import BY_NAME, WAYS
from bench.worlds.games import measure_games
from bench.worlds.measure import Row, measure
from bench.worlds.report import page, table
from evaluator.host.deterministic import run_pinned

PAGE, DOCUMENT = Path("site/pages/speed.md"), Path("build/worlds.json")


def main() -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", nargs="*", choices=sorted(BY_NAME), default=list(BY_NAME))
    parser.add_argument("--ways", nargs="*", choices=sorted(WAYS), default=list(WAYS))
    parser.add_argument("--seconds", type=float, default=2.0, help="how long the bare loop of each row plays")
    parser.add_argument("--no-games", action="store_true", help="leave out Connect Four")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE}")
    parser.add_argument("--from", dest="source", type=Path, help="write the report of an earlier run's JSON file")
    arguments = parser.parse_args()
    if arguments.source:
        rows = [Row(**row) for row in json.loads(arguments.source.read_text())]
    else:
        run_pinned(os.environ, ["-m", "bench.worlds", *sys.argv[1:]])
        rows = []
        games = () if arguments.no_games else measure_games()
        for row in itertools.chain(measure(arguments.worlds, arguments.ways, arguments.seconds), games):
            rows.append(row)
            print(row.line, file=sys.stderr)
            # A long run may be stopped: what was measured is there.
            DOCUMENT.parent.mkdir(exist_ok=True)
            DOCUMENT.write_text(json.dumps([asdict(each) for each in rows], indent=2) + "\n")
    table(rows)
    if arguments.page:
        PAGE.write_text(page(rows))


if __name__ == "__main__":
    main()
