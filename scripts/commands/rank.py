"""`pullrank rank`: the standings from what is recorded."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from leaderboard.anonymity import Shown, as_shown, with_flags
from leaderboard.api.documents import document
from leaderboard.board import standings
from leaderboard.standings import Standings
from scripts.board import Board, open_board
from scripts.console import OK, print_json, say


def compute(board: Board, *, official: bool, tasks: list[str] | None = None, now: datetime | None = None) -> Standings:
    """The standings of what stands in the store; damaged files and unreadable folders are named, not counted.

    What an official board hides until a date is hidden at the moment `now`; a local one is its owner's own business.
    """
    found, faults = board.read_all()
    duels, damaged_duels = board.recorded_duels if board.challenge.games or not board.is_lean else ([], [])
    for line in faults:
        say(line)
    for kind, damaged in (("result", board.recorded[1]), ("duel", damaged_duels)):
        for file in damaged:
            say(f"{file.path}: is not a {kind} ({file.reason}); it is left out")
    chosen = board.tasks(tasks)
    challenge = board.challenge.model_copy(update={"tasks": tuple(chosen)})
    whole = Shown(
        challenge=challenge, entries=tuple(f.entry() for f in found), moderation=board.moderation,
        results=tuple(board.results), duels=tuple(duels),
    )  # fmt: skip
    shown = as_shown(whole, now or datetime.now(UTC)) if official else with_flags(whole)
    return standings(
        shown.challenge, shown.entries, shown.results, official=official, moderation=shown.moderation, duels=shown.duels
    )


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
        # Tables for people need rich, a document for machines does not.
        from scripts.tables import standings_tables

        standings_tables(table)
    return OK
