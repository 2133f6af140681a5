"""`pullrank rank`: the standings of the recorded results."""

from pathlib import Path

from evaluator.model.records.stored_record import Tier
from leaderboard.api.rank_json import standings_document
from leaderboard.core.entry import EXAMPLES_LOGIN
from scripts.console import OK, print_json, say
from scripts.options import JsonDocument, OfficialOnly, OnlyTasks
from scripts.repository.checkout import Checkout, open_checkout
from scripts.repository.layout import SUBMISSIONS
from scripts.standings.recorded_standings import recorded_standings


def run(task: OnlyTasks = None, official: OfficialOnly = False, as_json: JsonDocument = False) -> int:
    """Rank what is recorded; nothing is played."""
    checkout = open_checkout(Path.cwd())
    standings = recorded_standings(checkout, official=official, tasks=task)
    if as_json:
        print_json(standings_document(standings))
    else:
        # Imported late: only tables need rich.
        from scripts.terminal.standings_tables import standings_tables

        standings_tables(standings)
        if absent := _not_here(checkout):
            say(f"Recorded, but not on this branch, so not ranked: {', '.join(absent)}; switch to the branch that has them.")
    return OK


def _not_here(checkout: Checkout) -> list[str]:
    """Agents that were evaluated in this clone and whose folders are not on its branch."""
    here = {
        (path.parent.name.casefold() if path.parent.parent.name == SUBMISSIONS else EXAMPLES_LOGIN, path.name)
        for path in checkout.folders
    }
    local = [result for result in checkout.recorded[0] if result.tier is Tier.LOCAL]
    return sorted({f"{each.login}/{each.agent}" for each in local if (each.login.casefold(), each.agent) not in here})
