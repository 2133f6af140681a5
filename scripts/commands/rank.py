"""`pullrank rank`: the standings from what is recorded."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from leaderboard.board import standings
from leaderboard.standings import Excluded, Standings, Withdrawn
from scripts.board import Board, open_board
from scripts.console import OK, print_json, say
from scripts.tables import standings_tables


def compute(board: Board, *, official: bool, tasks: list[str] | None = None) -> Standings:
    """The standings of what stands in the store; damaged files and unreadable folders are named, not counted."""
    found, faults = board.read_all()
    damaged = board.recorded[1]
    for line in faults:
        say(line)
    for file in damaged:
        say(f"{file.path}: is not a result ({file.reason}); it is left out")
    chosen = board.tasks(tasks)
    challenge = board.challenge.model_copy(update={"tasks": tuple(chosen)})
    entries, results = [f.entry() for f in found], board.results_less_unreadable(found)
    return standings(challenge, entries, results, official=official, moderation=board.moderation)


def run(
    task: Annotated[list[str] | None, typer.Option(help="Only this task; may be given again.")] = None,
    official: Annotated[bool, typer.Option(help="Only official results.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document.")] = False,
) -> int:
    """Rank what is recorded; nothing is played."""
    table = compute(open_board(Path.cwd()), official=official, tasks=task)
    if as_json:
        print_json(document(table))
    else:
        standings_tables(table)
    return OK


def document(table: Standings) -> dict[str, Any]:
    """The standings as JSON: names and numbers, without the raw results."""
    return {
        "title": table.challenge.title,
        "season": table.challenge.season,
        "official": table.official,
        "overall": [_row(row) | {"iqm": row.iqm, "normalised": row.normalised} for row in table.overall],
        "tasks": [
            {
                "task": board.task.id,
                "rows": [
                    _row(row) | {"attempts": row.attempts, "episodes": len(row.result.returns), "key": row.result.key}
                    for row in board.rows
                ],
                "failures": [
                    {**_who(f.entry), "verdict": f.result.verdict, "message": f.result.message} for f in board.failures
                ],
                "waiting": [_who(entry) for entry in board.waiting],
                "excluded": [_excluded(one) for one in board.excluded],
                "withdrawn": [_withdrawn(one) for one in board.withdrawn],
            }
            for board in table.tasks
        ],
    }


def _who(entry: Any) -> dict[str, Any]:
    return {"login": entry.login, "agent": entry.agent, "name": entry.submission.name}


def _excluded(one: Excluded) -> dict[str, Any]:
    return {"login": one.login, "agent": one.agent, **one.exclusion.model_dump(include={"since", "who", "why", "link"})}


def _withdrawn(one: Withdrawn) -> dict[str, Any]:
    last = one.result
    measured = {"score": one.score, "verdict": last.verdict, "evaluated_at": last.provenance.evaluated_at, "key": last.key}
    return {"login": one.login, "agent": one.agent, **measured}


def _row(row: Any) -> dict[str, Any]:
    return {
        "place": row.place,
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "with_leader": row.with_leader,
        **_who(row.entry),
        "estimate": dataclasses.asdict(row.estimate),
    }
