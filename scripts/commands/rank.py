"""`pullrank rank`: the standings of the recorded results."""

from pathlib import Path

from leaderboard.api.standings_json import standings_document
from scripts.console import OK, print_json
from scripts.git.recorded_standings import recorded_standings
from scripts.options import JsonDocument, OfficialOnly, OnlyTasks
from scripts.repository.checkout import open_checkout


def run(
    task: OnlyTasks = None,
    official: OfficialOnly = False,
    as_json: JsonDocument = False,
) -> int:
    """Rank what is recorded; nothing is played."""
    standings = recorded_standings(open_checkout(Path.cwd()), official=official, tasks=task)
    if as_json:
        print_json(standings_document(standings))
    else:
        # Imported late: only tables need rich.
        from scripts.terminal_tables import standings_tables

        standings_tables(standings)
    return OK
