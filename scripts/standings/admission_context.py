"""What admission depends on, from main's history: when versions came to main and entered tasks."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from leaderboard.core.entry import Entry
from leaderboard.planning.admission_rules import AdmissionContext, authors_by_owner, tasks_by_name
from scripts.console import CommandError
from scripts.git.beacons import VersionOrigins, known_origins
from scripts.git.git_repository import GitRepository
from scripts.git.season_commits import season_commits
from scripts.repository.checkout import Checkout


def admission_at(
    now: datetime, origins: VersionOrigins, members: Mapping[str, frozenset[str]] | None = None
) -> AdmissionContext:
    """What admission depends on at a moment: merge times of the versions on main and, if asked for, the teams' members."""
    return AdmissionContext(
        now=now,
        arrived={name: beacon.at for name, beacon in origins.versions.items()},
        entered={where: stays[0].at for where, stays in origins.tasks.items()},
        members=members,
        named={pair: beacon.at for pair, beacon in origins.named.items()},
    )


def admission_context(checkout: Checkout, entries: Sequence[Entry], now: datetime) -> AdmissionContext:
    """What admission depends on, from this clone: git says when versions came to main; team members are not looked up.

    Once submissions have ended, as it was then: what is merged later makes nothing late or early.
    """
    challenge = checkout.challenge
    if not (challenge.phases or challenge.quota or challenge.people.one_team_each):
        return AdmissionContext(now=now)
    clone = GitRepository(checkout.root)
    try:
        if main := clone.resolve("HEAD"):
            season = season_commits(clone, main, challenge.season)
            until = season.final.sha if challenge.is_final and season.final else main
            if checkout.revealed:
                until = checkout.revealed.commit or main
            digests = {entry.spelled_name: entry.digest for entry in entries}
            tasks, authors = tasks_by_name(challenge, entries), authors_by_owner(challenge, entries)
            return admission_at(now, known_origins(clone, until, digests, tasks, season.began, authors))
    except CommandError:
        pass
    return AdmissionContext(now=now)  # Not a git clone: every version counts as arriving now.
