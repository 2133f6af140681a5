"""`pullrank show DIR`: what is recorded of an agent's version, with the end of its log."""

from pathlib import Path
from typing import Annotated

import typer

from scripts.console import OK, print_json
from scripts.options import AgentArgument, JsonList, OnlyTasks
from scripts.repository.checkout import open_checkout
from scripts.standings.agent_records import duels_of, entry_in, marked_episodes, newest_results


def run(
    folder: AgentArgument,
    task: OnlyTasks = None,
    episodes: Annotated[bool, typer.Option("--episodes", help="List all episodes, not three of them.")] = False,
    as_json: JsonList = False,
) -> int:
    """Show what is recorded of this version: returns, lengths, seeds, duels, the message, the end of the log."""
    checkout = open_checkout(Path.cwd())
    entry = entry_in(checkout, folder)
    duels = duels_of(checkout, entry, task)
    results = newest_results(checkout, entry, task, may_be_none=bool(duels))
    if as_json:
        print_json([*(result.document() for _, result in results), *(duel.model_dump(mode="json") for duel in duels)])
        return OK
    # Imported late: only tables need rich.
    from scripts.terminal.evaluation_tables import duels_table, episodes_table

    for each, result in results:
        episodes_table(each, result, marked_episodes(result, each, every=episodes))
    if duels:
        duels_table(entry.name, duels, checkout.challenge.games)
    return OK
