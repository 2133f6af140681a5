"""`pullrank grades`: what each participant or team handed in, for a course's gradebook."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from evaluator.model.config.phase import to_utc
from leaderboard.core.eligibility import is_official, without_quarantined
from leaderboard.core.entry import EXAMPLES_LOGIN
from leaderboard.core.standings import FinalDraws, without_late_draws
from leaderboard.core.version_folders import version_folders
from leaderboard.grades import grade_rows, handed_in, rated_submissions, too_late
from leaderboard.text.serialise import csv_text
from scripts.console import OK, CommandError, print_json, say
from scripts.git.beacons import beacon_order
from scripts.git.folder_history import FolderHistory
from scripts.git.git_repository import GitRepository
from scripts.git.season_commits import final_entries, season_commits
from scripts.repository.checkout import Checkout, open_checkout
from scripts.standings.recorded_standings import of_our_sandbox, rank_recorded, recorded_input

Arrivals = dict[tuple[str, str, str], datetime]


def run(
    as_csv: Annotated[bool, typer.Option("--csv/--json", help="A CSV file, which spreadsheets read, or JSON.")] = True,
) -> int:
    """Print a row for each participant or team: its best official scores before each deadline, and what is late."""
    checkout = open_checkout(Path.cwd())
    challenge, moderation = checkout.challenge, checkout.moderation

    erased = {erasure.login.casefold() for erasure in moderation.erasures}

    def counts(login: str, agent: str, digest: str | None = None) -> bool:
        nobody = login == EXAMPLES_LOGIN or login.casefold() in erased or challenge.people.is_host(login)
        # A baseline has no quota, whoever's it is.
        is_graded = not nobody and not challenge.is_baseline(login, agent, example=False)
        return is_graded and moderation.exclusion_of(login, agent, digest) is None

    on_main = [agent.entry() for agent in checkout.read_all()[0]]
    entries, folders = [entry for entry in on_main if counts(*entry.version)], version_folders(on_main)
    final = _final_draws(checkout)
    results = [
        result
        for result in without_late_draws(
            of_our_sandbox(checkout, without_quarantined(checkout.recorded[0], moderation)), final
        )
        if result.season == challenge.season
        and is_official(result)
        # Under the name that the hosts saw, and the one that it has now.
        and all(counts(*name, result.submission_digest) for name in ((result.login, result.agent), folders.of(result)))
    ]
    names = {(result.login.casefold(), result.submission_digest, result.task) for result in results}
    asked = [*challenge.games, *(task for task in challenge.tasks if challenge.phase_of(task.id))]
    names |= {(entry.login.casefold(), entry.digest, task.id) for entry in entries for task in asked}
    arrivals = _arrivals(checkout, names)
    # In a sealed season all draws have one beacon, and the quota limits them.
    final_beacon = final.beacon if final and not challenge.sealed else None
    handed = list(handed_in(challenge, results, arrivals, final_beacon))
    if challenge.games:
        # With boards and names that are hidden now, as the scores of tasks above.
        rating = rank_recorded(recorded_input(checkout, official=True, with_hidden=True), official=True)
        rated = rated_submissions(rating, arrivals)
        handed += [submission for submission in rated if counts(submission.login, submission.agent)]
    if not handed:
        say("No official result is here: 'pullrank recorded' fetches them.")
    rows = grade_rows(challenge, entries, [*handed, *too_late(challenge, entries, handed, arrivals)])
    if as_csv:
        sys.stdout.write(csv_text(rows).decode())
    else:
        print_json([dict(zip(map(str, rows[0]), row, strict=True)) for row in rows[1:]])
    return OK


def _final_draws(checkout: Checkout) -> FinalDraws | None:
    """The draws after the end of submissions; None where they have not ended, or main's history is not here."""
    try:
        return final_entries(checkout).draws if checkout.has_ended else None
    except CommandError:
        return None


def _arrivals(checkout: Checkout, names: set[tuple[str, str, str]]) -> Arrivals:
    """When each version first came to main in this season and entered the task; empty where this is no clone."""
    clone = GitRepository(checkout.root)
    try:
        main = clone.resolve("HEAD")
        history = FolderHistory(clone, main) if main else None
        began = season_commits(clone, main, checkout.challenge.season).began if main else None
    except CommandError:
        history = None
    if history is None or main is None:
        say("This is no clone with main's history, so versions count from their evaluation.")
        return {}
    order = beacon_order(clone, main)
    since = order[began] if began else 0
    stays = {name: [run for run in history.stays_of(*name) if not run.left or order[run.left] > since] for name in names}
    return {name: to_utc(runs[0].began.committed_at) for name, runs in stays.items() if runs}
