"""What planning, publishing, ranking and building a site cost as a board grows, on 8 tasks of 100 episodes.

`python -m bench.growth [SIZE …]` prints a table and writes build/growth.json, by default for 100, 1,000 and 10,000 agents;
with `--page` it also writes site/pages/growth.md, and with `--keep FOLDER` the boards stay there. Each step runs in its own
process; `--only` chooses some. Publishing records all results at once on a board without any; planning finds nothing to do.
Then come the jobs of an idle board: planning, publishing, and settling pull requests, of which none is open.
Verification is not here: it replays each result by itself, so its cost per result does not depend on the board.
"""

import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import rank_bench, site_bench
from bench.synthetic_board import BASE, RULES, write_board, write_repository
from evaluator.host.digests.runtime_digest import runtime_digest
from evaluator.host.loading.yaml_loader import read_challenge
from leaderboard.build_standings import build_standings
from scripts.cli import COLLECTOR
from scripts.git.git_repository import GitRepository
from scripts.git.main_entries import read_entries
from scripts.git.weights_branch import keep_weights
from scripts.github.official.plan_shards import is_more_wanted, plan_shards
from scripts.github.official.record_results import record_accepted
from scripts.github.official.round_work import PLANNED_BRANCH, OfficialRun
from scripts.repository.layout import record_store
from tests.github.world import NAME, OWNER, REPOSITORY_ID, World

SIZES = (100, 1_000, 10_000)
PAGE = Path("site/pages/growth.md")


@dataclass(frozen=True, kw_only=True)
class GrowthRow:
    """One step on a board of one size."""

    step: str
    agents: int
    seconds: float
    """From its start to its end, Python's start included."""
    cpu_seconds: float
    """Of the process and its children."""
    mib: float
    """The memory of its largest process."""
    load: float
    """The machine's load over the last minute, at the end."""

    @property
    def ms_per_agent(self) -> float:
        """Processor time, which other work on the machine changes least."""
        return 1000 * self.cpu_seconds / self.agents


def _official(place: Path) -> OfficialRun:
    clone = GitRepository(place / "clone")
    return OfficialRun(clone=clone, sandbox="docker", runtime_digest=runtime_digest(BASE), ask=lambda shas: {}, run_url=None)


def _publish(place: Path) -> None:
    published = record_accepted(_official(place), "1", place / "accepted", datetime.now(UTC))
    if published.known or not published.recorded:
        raise RuntimeError("the board has results already; build another one")


def _plan(place: Path) -> None:
    planned = plan_shards(_official(place))
    if planned.count or planned.left or planned.deferred:
        raise RuntimeError(f"{planned.count + planned.left} evaluations are wanted, though all are recorded")


def _note(place: Path) -> None:
    """What publish asks at its end. It finds nothing, and notes that."""
    if is_more_wanted(_official(place), datetime.now(UTC)):
        raise RuntimeError("evaluations are wanted, though all are recorded")


def _idle_publish(place: Path) -> None:
    """What `pullrank bot publish --only record` does in a round that accepted nothing."""
    accepted = place / "nothing"
    accepted.mkdir(exist_ok=True)
    official, now = _official(place), datetime.now(UTC)
    entries, _ = read_entries(official.clone, official.clone.resolve("HEAD") or "", read_challenge(place / "clone" / RULES))
    keep_weights(official.clone, (file for entry in entries for file in entry.submission.weights), now)
    if record_accepted(official, "1", accepted, now).recorded:
        raise RuntimeError("something was recorded, though nothing was accepted")


def _idle_reconcile(place: Path) -> None:
    """`pullrank bot reconcile` in a checkout whose records are fetched; GitHub is the stand-in of the tests."""
    from scripts.commands.bot import reconcile  # the other steps do without its half second

    clone = place / "clone"
    if not (clone / "results").exists():
        (clone / "results").symlink_to(place / "accepted" / "results")
    if not any(record_store(clone).files()):
        raise RuntimeError(f"no results are in {clone}")
    event = place / "event.json"
    event.write_text("{}")
    os.environ |= {
        "GITHUB_EVENT_NAME": "schedule", "GITHUB_EVENT_PATH": str(event), "GITHUB_RUN_ID": "1", "GITHUB_TOKEN": "bot-token",
        "GITHUB_REPOSITORY": f"{OWNER}/{NAME}", "GITHUB_REPOSITORY_ID": str(REPOSITORY_ID), "GITHUB_WORKSPACE": str(clone),
        "GITHUB_SHA": GitRepository(clone).resolve("HEAD") or "",
    }  # fmt: skip
    os.chdir(clone)
    if reconcile():
        raise RuntimeError("reconcile failed")


@contextmanager
def _stand_in() -> Iterator[None]:
    """GitHub for a step, in this process, so that the step's time and memory are its own."""
    from tests.github.server import GitHubStandIn

    server = GitHubStandIn(World(), checked=sys.maxsize)
    server.start()
    os.environ["GITHUB_API_URL"] = server.address
    try:
        yield
    finally:
        server.stop()


def _rank(place: Path) -> None:
    """Of records in memory; to make them is not part of the time."""
    rules, begun, cpu_begun = rank_bench.challenge(), time.perf_counter(), time.process_time()
    entries, results = rank_bench.board(rules, int(place.name))
    print(json.dumps([time.perf_counter() - begun, time.process_time() - cpu_begun]), flush=True)
    build_standings(rules, entries, results, official=True)


STEPS: dict[str, Callable[[Path], None]] = {
    "publish": _publish, "plan": _plan, "again": _note, "idle plan": _plan,
    "idle publish": _idle_publish, "idle reconcile": _idle_reconcile, "rank": _rank,
}  # fmt: skip
"""In this order: the note that `again` leaves is what the idle plan finds."""
SITE = "site"


def _timed(step: str, place: Path, size: int) -> GrowthRow:
    begun = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "bench.growth", "--step", step, str(place)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        lines = process.stdout.read().splitlines()
    preparing, cpu_preparing = json.loads(lines[0]) if lines else (0.0, 0.0)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{step} at {size:,} agents failed ({process.returncode})")
    return GrowthRow(
        step=step, agents=size, seconds=time.perf_counter() - begun - preparing,
        cpu_seconds=usage.ru_utime + usage.ru_stime - cpu_preparing,
        mib=usage.ru_maxrss / 1024, load=os.getloadavg()[0],
    )  # fmt: skip


def _board_steps(size: int, place: Path, chosen: Sequence[str]) -> Iterator[GrowthRow]:
    if not place.exists():
        write_repository(place, size)
    for branch in ("results", "traces-1", PLANNED_BRANCH):  # of an earlier run
        subprocess.run(["git", "update-ref", "-d", f"refs/heads/{branch}"], cwd=place / "origin", check=True)
    with _stand_in():
        for step in chosen:
            yield _timed(step, place, size)


def _site_step(size: int, place: Path) -> GrowthRow:
    if not place.exists():
        write_board(place, size)
    before = os.times()
    built = site_bench.build(place)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return GrowthRow(
        step=SITE,
        agents=size,
        seconds=built["seconds"],
        cpu_seconds=cpu,
        mib=built["MiB of memory"],
        load=os.getloadavg()[0],
    )


def measure(sizes: Sequence[int], place: Path, chosen: Sequence[str]) -> Iterator[GrowthRow]:
    """All steps on boards of all sizes, which are kept in `place`; the site, which takes longest, comes last."""
    steps = [step for step in STEPS if step in chosen]
    for size in sizes if steps else ():
        yield from _board_steps(size, place / "repository" / str(size), steps)
    for size in sizes if SITE in chosen else ():
        yield _site_step(size, place / SITE / str(size))


PAGE_TEXT = """# Growth

What the work around evaluations costs as a board grows: boards of agents with one version each, on eight tasks of 100
episodes. `python -m bench.growth --page` writes this page.

| Step | Agents | Seconds | Processor seconds | ms of processor per agent | MiB | Load |
|---|---:|---:|---:|---:|---:|---:|
{lines}

Seconds depend on what else the machine does, which *load* shows (of {processors} processors); processor seconds hardly do.
*publish* records all results in one round. *plan* reads everything and finds nothing to do; *again* is the same at the
end of publishing, which notes it; *idle plan* finds the note. *idle publish* is a round without a result, which the
workflow leaves out; *idle reconcile* settles pull requests, of which none is open. *rank* makes all standings of
results that are in memory; making them is left out. *site* reads, ranks and writes the site. MiB is the largest
process, for the site all processes together. Verification replays each result by itself, so it has no curve.
"""


def page(rows: Sequence[GrowthRow]) -> str:
    """The page of the site, in Markdown."""
    lines = (
        f"| {row.step} | {row.agents:,} | {row.seconds:,.1f} | {row.cpu_seconds:,.1f} | {row.ms_per_agent:.2f} "
        f"| {row.mib:,.0f} | {row.load:.1f} |"
        for row in rows
    )
    return PAGE_TEXT.format(lines="\n".join(lines), processors=os.cpu_count())


def main() -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, help="numbers of agents")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE}")
    parser.add_argument("--keep", type=Path, help="where the boards stay")
    parser.add_argument("--only", nargs="+", choices=(*STEPS, SITE), default=(*STEPS, SITE), help="steps")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        gc.set_threshold(*COLLECTOR)  # as the command does
        STEPS[arguments.step[0]](Path(arguments.step[1]))
        return
    place = arguments.keep or Path(tempfile.mkdtemp(prefix="pullrank-growth-"))
    rows: list[GrowthRow] = []
    try:
        for row in measure(arguments.sizes, place.absolute(), arguments.only):
            rows.append(row)
            # A long run may be stopped: what was measured is there.
            _write(sorted(rows, key=lambda one: (one.step, one.agents)), with_page=arguments.page)
    finally:
        if arguments.keep is None:
            shutil.rmtree(place)


def _write(rows: Sequence[GrowthRow], *, with_page: bool) -> None:
    """Print the table and write the files."""
    table = Table("step", "agents", "seconds", "processor seconds", "ms per agent", "MiB", "load")
    for row in rows:
        figures = (row.seconds, row.cpu_seconds, row.ms_per_agent, row.mib, row.load)
        table.add_row(row.step, f"{row.agents:,}", *(f"{figure:,.2f}" for figure in figures))
    Console().print(table)
    target = Path("build/growth.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    if with_page:
        PAGE.write_text(page(rows))


if __name__ == "__main__":
    main()
