"""Beacons: the first-parent commits of main that seeds come from, one for each stay of a version on a task.

A stay of a version begins with the commit that brings it to main, into whatever folder of its login, and enters the task.
Nobody can predict the commit's id, and no other folder of the login gets another one for the same files. A version that left
and comes back begins another stay, with other seeds: otherwise one could merge many versions and go back to the luckiest.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from leaderboard.core.entry import AgentName
from scripts.console import OUR_FAULT, CommandError
from scripts.git.folder_history import FolderHistory, FolderState
from scripts.git.git_repository import GitRepository
from scripts.repository.layout import folder_of


@dataclass(frozen=True, kw_only=True)
class SeedBeacon:
    """The commit that an agent's seeds come from."""

    sha: str
    committed_at: str

    @property
    def at(self) -> datetime:
        """When it was committed, in UTC."""
        return datetime.fromisoformat(self.committed_at).astimezone(UTC)


@dataclass(frozen=True, kw_only=True)
class VersionOrigins:
    """The beacons of the versions on main."""

    versions: dict[AgentName, SeedBeacon]
    """The commit that brought each version first, which tells its owner and its age."""
    tasks: dict[tuple[AgentName, str], tuple[SeedBeacon, ...]]
    """The commits that began the version's stays on the task, the present one last."""
    named: dict[tuple[str, str], SeedBeacon] = field(default_factory=dict)
    """Owner and author, in lower case, to the commit since which the owner's agents name the author."""


NO_AUTHORS: Mapping[str, Collection[str]] = {}


def version_origins(
    repository: GitRepository,
    main_sha: str,
    digests: Mapping[AgentName, str],
    tasks: Mapping[AgentName, Collection[str]],
    since: str | None = None,
    authors: Mapping[str, Collection[str]] = NO_AUTHORS,
) -> VersionOrigins:
    """The beacons of the versions on main, with one walk through history.

    `digests`: each folder's version. `tasks`: ids of the tasks that each folder enters. `since`: the commit that began the
    season: stays that were over by then are left out. `authors`: as in `FolderHistory.naming`.

    Raises:
        CommandError: the clone is shallow, or a version is not on main.
    """
    refuse_shallow(repository)
    history = FolderHistory(repository, main_sha)
    # A folder's current content has this digest, so few files need to be read.
    oldest = history.first(digests.keys())
    if missing := next((name for name in digests if name not in oldest), None):
        fault = f"{folder_of(missing)}: no commit of main holds version {digests[missing][:12]}"
        raise CommandError(OUR_FAULT, fault)
    versions = {name: _beacon(oldest[name]) for name in digests}
    stays = _stays(repository, main_sha, history, tasks, since)
    return VersionOrigins(versions=versions, tasks=stays, named=_named(history, authors))


def _named(history: FolderHistory, authors: Mapping[str, Collection[str]]) -> dict[tuple[str, str], SeedBeacon]:
    return {pair: _beacon(state) for pair, state in history.naming(authors).items()}


def _stays(
    repository: GitRepository,
    main_sha: str,
    history: FolderHistory,
    tasks: Mapping[AgentName, Collection[str]],
    since: str | None = None,
) -> dict[tuple[AgentName, str], tuple[SeedBeacon, ...]]:
    """The beacons of the stays, without those that were over before the commit `since`."""
    stays = history.stays(tasks)
    if since:
        order = beacon_order(repository, main_sha)
        for where, of_task in stays.items():
            stays[where] = [stay for stay in of_task if not stay.left or order[stay.left] > order[since]]
    return {where: tuple(_beacon(stay.began) for stay in of_task) for where, of_task in stays.items() if of_task}


def stay_beacons(
    repository: GitRepository,
    main_sha: str,
    digests: Mapping[AgentName, str],
    tasks: Mapping[AgentName, Collection[str]],
    since: str | None = None,
) -> dict[tuple[AgentName, str], frozenset[str]]:
    """The beacons of those versions on main that left it, or a task, and came back: several for each.

    Few files are read, since few versions do. The arguments are those of `version_origins`.

    Raises:
        CommandError: the clone is shallow.
    """
    refuse_shallow(repository)
    history = FolderHistory(repository, main_sha)
    names = history.in_several_states(digests)
    digests_on_main = history.digests(names)
    present = {name: tasks[name] for name in names if digests_on_main.get(name) == digests[name]}
    if not present:
        return {}
    stays = _stays(repository, main_sha, history, present, since)
    return {where: frozenset(beacon.sha for beacon in own) for where, own in stays.items() if len(own) > 1}


def refuse_shallow(repository: GitRepository) -> None:
    """Make sure that the clone has all of main's history.

    Raises:
        CommandError: it is shallow.
    """
    if repository.is_shallow():
        raise CommandError(
            OUR_FAULT, "the clone is shallow, so no beacon can be told; check out with fetch-depth: 2147483647"
        )


def _beacon(state: FolderState) -> SeedBeacon:
    return SeedBeacon(sha=state.sha, committed_at=state.committed_at)


def known_origins(
    repository: GitRepository,
    main_sha: str,
    digests: Mapping[AgentName, str],
    tasks: Mapping[AgentName, Collection[str]],
    since: str | None = None,
    authors: Mapping[str, Collection[str]] = NO_AUTHORS,
) -> VersionOrigins:
    """The beacons of those versions that are or were on main, and of their stays on tasks; none in a shallow clone.

    The arguments are those of `version_origins`.
    """
    if repository.is_shallow():
        return VersionOrigins(versions={}, tasks={})
    history = FolderHistory(repository, main_sha)
    digests_on_main = history.digests(digests)
    oldest: dict[AgentName, FolderState | None] = {
        **history.first([name for name in digests if digests_on_main.get(name) == digests[name]])
    }
    for name in digests.keys() - oldest.keys():
        oldest[name] = next(history.holding(name[0], digests[name]), None)
    versions = {name: _beacon(state) for name in digests if (state := oldest[name])}
    present = {name: tasks[name] for name in versions.keys() & tasks.keys() if digests_on_main.get(name) == digests[name]}
    stays = _stays(repository, main_sha, history, present, since)
    return VersionOrigins(versions=versions, tasks=stays, named=_named(history, authors))


def beacon_order(repository: GitRepository, main_sha: str) -> dict[str, int]:
    """Each commit's position in main's history: of two players' beacons the later one counts."""
    commits = repository.first_parent(main_sha)
    return {sha: len(commits) - age for age, sha in enumerate(commits)}
