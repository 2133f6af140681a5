"""The report of all cells: a table for the terminal, and a page with plots."""

import html
import itertools
import math
import os
import platform
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from bench.worlds.cells import BARE, LANES, LOCK_STEP, WAYS, WORLDS
from bench.worlds.measure import NOT_MEASURED, Row
from leaderboard.text.format import NONE

HEADS = ("way", "steps/s", "× bare", "× bare per processor second", "MiB", "start, s", "minutes per million steps")
PAGE = """# Speed

How fast agents are evaluated, against the loop that everybody writes, in the same run. `make bench PART=worlds
ARGS=--page` writes this page; `python -m bench.worlds --help` says how to measure less of it.

- *bare loop*: one environment and the agent in one process, without a sandbox.
- *docker, lock-step* is how an agent with `act_batch` or `memoryless` is evaluated, with {lanes} episodes at once. The
  referee steps them while the agent thinks about others. In *one lane* it sees one observation at a time.
- *SB3 evaluate_policy* is Stable-Baselines3's, with so many environments, around the same policy.
- *gRPC, HTTP, JSON lines* ask an agent in another process for each move, without any sandbox.

*× bare* depends on how many processors are free: two sides at work need two. *× bare per processor second* hardly does. MiB
adds up the peaks of all processes. *Start* is from the program's start to the first observation. A million steps cost the
minutes of one machine that stand in the last column. Networks are of numpy, with fixed weights. Connect Four counts games,
random against random, instead of steps.

A seeded reset of Breakout takes as long as some 250 steps, since the game is loaded anew. The bare loop and one lane reset
between episodes, the others mostly before the first observation, so there *× bare* says little.

Measured on {processors} processors ({machine}), Python {python}, with {seconds} of the bare loop per row. While it was
measured, the machine's load was {low:.1f} to {high:.1f}.{busy}

{sections}
{missing}"""
BUSY = """ Other work ran beside it, so
times, starts and minutes are too long, and *× bare* wavers; the plots show steps per processor second."""
_LEFT, _WIDTH, _ROW, _TOP = 190, 640, 22, 24
# Of what a whole run has.
WORLD_NAMES = (*(world.name for world in WORLDS), "Connect Four")
# The plot's ends: a hundredth and ten times the bare loop.
_LOW, _HIGH = -2.0, 1.0


def cells_of(row: Row) -> tuple[str, ...]:
    """A row of the table in words."""
    if row.reason:
        return (row.way, row.reason, "", "", "", "", "")
    if not row.cpu_seconds:
        return (row.way, f"{row.speed:,.0f}", f"{row.ratio:.2f}", NONE, NONE, NONE, f"{row.minutes:,.2f}")
    return (
        row.way, f"{row.speed:,.0f}", f"{row.ratio:.2f}", f"{row.cpu_ratio:.2f}", f"{row.mib:,.0f}", f"{row.start:.1f}",
        f"{row.minutes:,.2f}",
    )  # fmt: skip


def table(rows: Iterable[Row]) -> None:
    """Print the tables."""
    for (world, policy), group in _groups(rows):
        shown = Table(*HEADS, title=f"{world}, {policy}")
        for row in group:
            shown.add_row(*cells_of(row))
        Console().print(shown)


def _groups(rows: Iterable[Row]) -> list[tuple[tuple[str, str], list[Row]]]:
    return [(key, list(group)) for key, group in itertools.groupby(rows, lambda row: (row.world, row.policy))]


def page(rows: Sequence[Row]) -> str:
    """The page of the site, in Markdown."""
    done = [row for row in rows if not row.reason]
    loads = [row.load for row in done] or [0.0]
    bare = [row.seconds for row in done if row.way == BARE] or [0.0]
    processors = os.cpu_count() or 1
    busy = max(loads) > processors
    sections = "\n".join(
        _section(*key, group, busy=busy) for key, group in _groups(rows) if any(not row.reason for row in group)
    )
    return PAGE.format(
        lanes=LANES[LOCK_STEP], processors=processors, machine=platform.machine(), python=platform.python_version(),
        seconds=f"{min(bare):.1f} to {max(bare):.1f} s", low=min(loads), high=max(loads),
        busy=BUSY if busy else "", sections=sections, missing=_missing(rows),
    )  # fmt: skip


def _section(world: str, policy: str, rows: Sequence[Row], *, busy: bool) -> str:
    measured = [row for row in rows if not row.reason]
    lines = [f"## {world}, {policy}", "", _plot(f"{world}, {policy}", measured, busy=busy), ""]
    lines += ["| " + " | ".join(HEADS) + " |", "|---" + "|---:" * (len(HEADS) - 1) + "|"]
    lines += ["| " + " | ".join(cells_of(row)) + " |" for row in measured]
    return "\n".join([*lines, ""])


def _missing(rows: Sequence[Row]) -> str:
    """What was not measured, and why."""
    lines = [
        f"- {row.world}, {row.policy}{'' if row.way == BARE else f', {row.way}'}: {row.reason.removeprefix(NOT_MEASURED)}"
        for row in rows
        if row.reason
    ]
    for kind, wanted, known in (
        ("Ways", WAYS, {row.way for row in rows}),
        ("Worlds", WORLD_NAMES, {row.world for row in rows}),
    ):
        if left_out := [name for name in wanted if name not in known]:
            lines.append(f"- {kind} that were left out of this run: {'; '.join(left_out)}")
    return "\n".join(["## Not measured", "", *lines, ""]) if lines else ""


def _plot(title: str, rows: Sequence[Row], *, busy: bool) -> str:
    """Each way's speed on a logarithmic scale, the bare loop being 1; on a busy machine, in processor seconds."""
    base = _TOP + _ROW * len(rows)
    unit = "steps per processor second" if busy else "steps per second"
    values = [row.cpu_ratio if busy and row.cpu_seconds else row.ratio for row in rows]
    ticks = "".join(_tick(value, base) for value in (0.01, 0.1, 1, 10))
    points = "".join(
        _point(row.way, value, _TOP + _ROW * index + _ROW // 2)
        for index, (row, value) in enumerate(zip(rows, values, strict=True))
    )
    words = html.escape(f"{title}: {unit} of each way, the bare loop being 1. The numbers are in the table.")
    return (
        '<figure class="pr-plotted" data-search-exclude><div class="pr-scroll"><svg class="pr-plot" '
        f'viewBox="0 0 {_WIDTH + 30} {base + 44}" role="img" aria-label="{words}">{ticks}{points}'
        f'<text class="pr-plot-title" x="{(_LEFT + _WIDTH) / 2:.0f}" '
        f'y="{base + 38}">{unit}, × bare loop</text></svg></div></figure>'
    )


def _point(way: str, value: float, y: int) -> str:
    words = html.escape(f"{way}: {value:.2f} × bare")
    return (
        f'<g class="pr-plot-row"><title>{words}</title><rect x="0" y="{y - _ROW // 2}" width="{_WIDTH}" height="{_ROW}"/>'
        f'<text x="{_LEFT - 12}" y="{y + 4}">{html.escape(way)}</text>'
        f'<line x1="{_x(1.0)}" x2="{_x(value)}" y1="{y}" y2="{y}"/><circle cx="{_x(value)}" cy="{y}" r="4"/></g>'
    )


def _tick(value: float, base: int) -> str:
    kind = "mark" if value == 1 else "tick"
    return (
        f'<line class="pr-plot-{kind}" x1="{_x(value)}" x2="{_x(value)}" y1="{_TOP}" y2="{base + 4}"/>'
        f'<text class="pr-plot-value" x="{_x(value)}" y="{base + 18}">{value:g}</text>'
    )


def _x(ratio: float) -> str:
    share = (min(_HIGH, max(_LOW, math.log10(ratio))) - _LOW) / (_HIGH - _LOW)
    return f"{_LEFT + (_WIDTH - _LEFT) * share:.1f}"
