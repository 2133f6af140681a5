"""Records a change of season.json: in results/ of this clone, and on the branch `results`."""

from collections.abc import Callable
from datetime import datetime

from leaderboard.core.store import write_atomically
from scripts.console import OUR_FAULT, CommandError
from scripts.git.data_branches import BranchCommit, newest_results, open_branches, read_recorded
from scripts.git.git_repository import GitRepository
from scripts.repository.checkout import Checkout
from scripts.repository.layout import RESULTS_BRANCH
from scripts.repository.season_file import SEASON_FILE, SeasonFile, parse_seasons

TRIES = 5
SeasonChange = Callable[[SeasonFile], SeasonFile]


def record_locally(checkout: Checkout, change: SeasonChange) -> None:
    """Record the change in results/ of this clone."""
    write_atomically(checkout.store.results / SEASON_FILE, change(checkout.seasons).serialised())


def record_on_branch(clone: GitRepository, season: str, change: SeasonChange, message: str, now: datetime) -> None:
    """Record the change on the branch `results` of origin; repeated if others push at the same time.

    Raises:
        CommandError: the remote refuses, or all tries collide with other pushes.
    """
    for _ in range(TRIES):
        other_files: dict[str, bytes] = {}
        read_recorded(clone, newest_results(clone), other_files)
        seasons = parse_seasons(other_files[SEASON_FILE]) if SEASON_FILE in other_files else SeasonFile()
        with open_branches(clone, season) as branches:
            commit = BranchCommit(message=message, files=((SEASON_FILE, change(seasons).serialised()),))
            if branches.push({RESULTS_BRANCH: branches.build(branches.tips().get(RESULTS_BRANCH), commit, now)}):
                return
    raise CommandError(OUR_FAULT, f"others pushed first {TRIES} times; run the same command again")
