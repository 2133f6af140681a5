"""Puts news of a season where everybody finds it: results/season.json here, and the branch `results` where that is asked."""

from collections.abc import Callable
from datetime import datetime

from scripts.console import OUR_FAULT, CommandError
from scripts.git.data_branches import RESULTS, BranchCommit, newest_results, open_branches, read_recorded
from scripts.git.git_repository import GitRepository
from scripts.repository.checkout import Checkout
from scripts.repository.season_file import NAME, Seasons, parse_seasons, write_seasons

TRIES = 5
Change = Callable[[Seasons], Seasons]


def keep(board: Checkout, change: Change) -> Seasons:
    """Record the news in results/ of this clone."""
    changed = change(board.seasons)
    write_seasons(board.store.results, changed)
    return changed


def publish(clone: GitRepository, season: str, change: Change, message: str, now: datetime) -> None:
    """Record the news on the branch `results` of the clone's origin, anew whenever others were first.

    Raises:
        CommandError: the remote refuses, or others are first too often.
    """
    for _ in range(TRIES):
        aside: dict[str, bytes] = {}
        read_recorded(clone, newest_results(clone), aside)
        known = parse_seasons(aside[NAME]) if NAME in aside else Seasons()
        with open_branches(clone, season) as branches:
            commit = BranchCommit(message=message, files=((NAME, change(known).serialised()),))
            if branches.push({RESULTS: branches.build(branches.tips().get(RESULTS), [commit], now)}):
                return
    raise CommandError(OUR_FAULT, f"others pushed first {TRIES} times; run the same command again")
