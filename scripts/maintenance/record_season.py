"""Changes of a season in `season.json`: recorded on the branch `results` of origin and in results/ of this clone."""

from collections.abc import Callable
from datetime import datetime

from leaderboard.core.store import write_atomically
from scripts.console import OUR_FAULT, CommandError
from scripts.git.data_branches import MAX_PUSHES, BranchCommit, open_branches, read_recorded
from scripts.git.git_repository import GitRepository
from scripts.repository.checkout import Checkout
from scripts.repository.layout import RESULTS_BRANCH
from scripts.repository.season_file import SEASON_FILE, SeasonEntry, SeasonFile, parse_seasons

SeasonChange = Callable[[SeasonEntry], SeasonEntry]
"""The season as it is to what it is afterwards; raises CommandError if it may not change so."""


def record_season(checkout: Checkout, change: SeasonChange, verb: str, target: GitRepository | None, now: datetime) -> None:
    """Record a change of the present season; on the branch first, so that this clone stays unchanged if the push fails.

    `target` is the clone to push from; without one it is recorded in this clone only.

    Raises:
        CommandError: the change is refused, the remote refuses, or all tries collide with other pushes.
    """
    season = checkout.challenge.season
    if target is None:
        record_locally(checkout, change)
    else:
        # Also where this clone has the change already, without the branch.
        pushed = record_on_branch(target, season, change, f"{verb} season {season}", now)
        record_locally(checkout, lambda entry: pushed)


def record_locally(checkout: Checkout, change: SeasonChange) -> None:
    """Record the change in results/ of this clone."""
    entry = change(checkout.seasons.of(checkout.challenge.season))
    write_atomically(checkout.store.results / SEASON_FILE, checkout.seasons.having(entry).serialised())


def record_on_branch(clone: GitRepository, season: str, change: SeasonChange, message: str, now: datetime) -> SeasonEntry:
    """Record the change on the branch `results` of origin, and return the season as it is there now.

    Repeated if others push at the same time.

    Raises:
        CommandError: the remote refuses, or all tries collide with other pushes.
    """
    for _ in range(MAX_PUSHES):
        other_files: dict[str, bytes] = {}
        with open_branches(clone, season) as branches:
            # What is read is what is built on: else a change that another host pushed in between would be undone.
            tip = branches.tips().get(RESULTS_BRANCH)
            read_recorded(clone, tip or "", other_files)
            seasons = parse_seasons(other_files[SEASON_FILE]) if SEASON_FILE in other_files else SeasonFile()
            entry = change(seasons.of(season))
            commit = BranchCommit(message=message, files=((SEASON_FILE, seasons.having(entry).serialised()),))
            if branches.push({RESULTS_BRANCH: branches.build(tip, commit, now)}):
                return entry
    raise CommandError(OUR_FAULT, f"others pushed first {MAX_PUSHES} times; run the same command again")
