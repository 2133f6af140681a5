"""`pullrank rank`: the standings of the recorded results."""

from pathlib import Path
from typing import Annotated

import typer

from leaderboard.api.standings_json import standings_document
from scripts.console import OK, print_json
from scripts.git.recorded_standings import recorded_standings
from scripts.repository.checkout import open_checkout


def run(
    task: Annotated[list[str] | None, typer.Option(help="Only this task; may be given again.")] = None,
    official: Annotated[bool, typer.Option(help="Only official results.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document.")] = False,
) -> int:
    """Rank what is recorded; nothing is played."""
    standings = recorded_standings(open_checkout(Path.cwd()), official=official, tasks=task)
    if as_json:
        print_json(standings_document(standings))
    else:
        # Imported late: only tables need rich.
        from scripts.tables.standings_tables import standings_tables

        standings_tables(standings)
    return OK
