"""`pullrank plan`: what is wanted and not recorded."""

from pathlib import Path
from typing import Annotated

import typer

from leaderboard.plan import Where, plan
from scripts.board import PREVIEW_BEACON, open_board
from scripts.console import OK, print_json, say
from scripts.evaluating import open_bench


def run(
    sandbox: Annotated[str, typer.Option(help="auto, docker, gvisor or process.")] = "auto",
    explain: Annotated[bool, typer.Option(help="Say of each why it is not recorded.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> int:
    """List the evaluations that are wanted and not recorded."""
    board = open_board(Path.cwd())
    bench = open_bench(board, sandbox)
    found, faults = board.read_all()
    results, _ = board.store.read()
    where = Where(runtime_digest=bench.runtime_digest, beacon=PREVIEW_BEACON)
    items = plan(board.challenge, [f.entry() for f in found], results, where)
    if as_json:
        names = [(item.entry.login, item.entry.agent, item.task_id, item.wanted.key(), item.reason) for item in items]
        print_json([dict(zip(("login", "agent", "task", "key", "reason"), name, strict=True)) for name in names])
        return OK
    for line in faults:
        say(line)
    for item in items:
        why = f": {item.reason}" if explain else ""
        say(f"{item.entry.login}/{item.entry.agent} on {item.task_id}{why}")
    say(f"{len(items)} wanted and not recorded, {len(results)} recorded.")
    return OK
