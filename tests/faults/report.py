"""`python -m tests.faults.report`: writes site/pages/faults.md from what the tests of faults noted in build/faults/.

    PULLRANK_ALL_FAULTS=1 python -m pytest tests/faults && python -m tests.faults.report

A soak that lies in build/soak.json is added.
"""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.faults.points import POINTS, FaultPoint

ROOT = Path(__file__).resolve().parents[2]
NOTES = ROOT / "build" / "faults"
SOAK = ROOT / "build" / "soak.json"
PAGE = ROOT / "site" / "pages" / "faults.md"
RUNS = {
    "docker": "An evaluation in a container",
    "process": "An evaluation in a process",
    "tournament": "A tournament",
    "beside": "Duels side by side",
    "shard": "A shard of the official run",
    "publish": "Publishing",
    "announce": "The announcement",
    "reconcile": "The hourly run",
    "site": "Building the site",
    "close": "Closing a season",
    "demo": "The demonstration",
    "image": "Building the evaluator image",
}
ACTS = {
    "clock": "`time.time()` +100,000 s",
    "clock-back": "`time.time()` −100,000 s",
    "monotonic": "`time.monotonic()` +100,000 s",
}
TABLE = "| Point | Where | What | The disturbed run | Afterwards | Run |\n|---|---|---|---|---|---|\n"
HEAD = """\
# Faults

What happens when something dies at a bad moment. Each row is a real run that was killed or broken at a named place, and
then simply run again. A row holds where the second run ended well, the records were those of an undisturbed run but for
times, each was there once, and nothing was left: no container, process, control group, socket, temporary folder, lock or
half-written file.

`PULLRANK_ALL_FAULTS=1 python -m pytest tests/faults` runs every point; the usual tests run those marked with •.
`python -m tests.faults.report` writes this page from what they noted.

"""
SOAK_WORDS = """
## The long run

`python -m bench.soak` played {count:,} evaluations of good and hostile agents in one process, {wrong} of them with an
outcome that they should not have. Between rounds nothing runs, so what is there then was left behind. Control groups and
mounts are those of the whole machine.

"""


@dataclass(frozen=True, kw_only=True)
class Note:
    """How a point went."""

    name: str
    code: int
    held: bool
    day: str
    commit: str


def note(point: FaultPoint, code: int, *, held: bool) -> None:
    """Write down how a point went."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    made = Note(
        name=point.name, code=code, held=held, day=datetime.now(UTC).strftime("%Y-%m-%d"), commit=commit.stdout.strip()
    )
    NOTES.mkdir(parents=True, exist_ok=True)
    (NOTES / f"{point.name}.json").write_text(json.dumps(asdict(made)) + "\n")


def read_notes() -> dict[str, Note]:
    """What is written down of points that there are, by name."""
    names = {point.name for point in POINTS}
    notes = (Note(**json.loads(path.read_text())) for path in sorted(NOTES.glob("*.json")))
    return {made.name: made for made in notes if made.name in names}


def page(notes: dict[str, Note], soak: dict[str, Any] | None) -> str:
    """The page."""
    held = sum(point.name in notes and notes[point.name].held for point in POINTS)
    lines = [HEAD, f"{len(POINTS)} points; {len(notes)} were run for this page, and {held} of them held.\n\n"]
    for run, title in RUNS.items():
        points = [point for point in POINTS if point.run == run]
        lines += [f"## {title}\n\n", TABLE, *(_row(point, notes.get(point.name)) for point in points), "\n"]
    return "".join(lines).rstrip() + "\n" + (_soak(soak) if soak else "")


def _row(point: FaultPoint, made: Note | None) -> str:
    what = point.outside or point.breakage or ACTS.get(point.act) or "SIGKILL"
    place = f"| `{point.name}`{' •' if point.usual else ''} | {point.words} | {what} "
    if made is None:
        return f"{place}| | not run | |\n"
    ended = "killed" if made.code < 0 else f"exit code {made.code}"
    outcome = "held" if made.held else "**did not hold**"
    return f"{place}| {ended} | {outcome} | {made.day}, `{made.commit}` |\n"


def _soak(soak: dict[str, Any]) -> str:
    samples = soak["samples"]
    columns = [name for name in samples[0] if name not in ("evaluations", "seconds", "wrong")]
    shown = [sample for number, sample in enumerate(samples, 1) if number == 1 or number % max(1, len(samples) // 5) == 0]
    rows = [("", [f"after {sample['evaluations']:,}" for sample in shown]), ("---", ["---"] * len(shown))]
    rows += [(name, [f"{sample[name]:,.0f}" for sample in shown]) for name in columns]
    table = "".join(f"| {name} | {' | '.join(cells)} |\n" for name, cells in rows)
    return SOAK_WORDS.format(count=samples[-1]["evaluations"], wrong=samples[-1]["wrong"]) + table


def main() -> None:
    """Write the page, and say which points were not run."""
    how = "PULLRANK_ALL_FAULTS=1 python -m pytest tests/faults runs them"
    notes = read_notes()
    if not notes:
        sys.exit(f"No point was run, and the page stays as it is; {how}.")
    if missing := [point.name for point in POINTS if point.name not in notes]:
        print(f"not run: {', '.join(missing)}; {how}")
    PAGE.write_text(page(notes, json.loads(SOAK.read_text()) if SOAK.exists() else None))
    print(f"{PAGE.relative_to(ROOT)} is written.")


if __name__ == "__main__":
    main()
