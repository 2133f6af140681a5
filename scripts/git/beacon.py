"""The beacon: the oldest first-parent commit of main in which any folder of a login entered a version for a task.

Nobody can predict its id, and no other folder of the same login gets another one for the same files. A task that is named
later has a later beacon: otherwise one could merge many versions, try their seeds at home, and enter the best.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NoReturn

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


@dataclass(frozen=True, kw_only=True)
class VersionOrigins:
    """The beacons of the versions on main."""

    versions: dict[AgentName, SeedBeacon]
    tasks: dict[tuple[AgentName, str], SeedBeacon]
    """The commit that entered the version for the task."""


def find_beacon(repository: GitRepository, main_sha: str, login: str, agent: str, digest: str) -> SeedBeacon:
    """The commit that brought one version.

    Raises:
        CommandError: the clone is shallow, or the version is not on main.
    """
    _refuse_shallow(repository)
    oldest = next(FolderHistory(repository, main_sha).holding(login, digest), None)
    return _beacon(oldest) if oldest else _refuse_missing(folder_of(AgentName(login, agent)), digest)


def version_origins(
    repository: GitRepository, main_sha: str, digests: Mapping[AgentName, str], tasks: Mapping[AgentName, Collection[str]]
) -> VersionOrigins:
    """The beacons of the versions on main, with one walk through history.

    Args:
        repository: a clone with all of main's history.
        main_sha: the commit of main.
        digests: each folder's version.
        tasks: ids of the tasks that each folder enters.

    Raises:
        CommandError: the clone is shallow, or a version is not on main.
    """
    _refuse_shallow(repository)
    history = FolderHistory(repository, main_sha)
    # A folder's current content has this digest, so few files need to be read.
    oldest = history.first(digests.keys())
    versions = {
        name: _beacon(oldest[name]) if name in oldest else _refuse_missing(folder_of(name), digest)
        for name, digest in digests.items()
    }
    return VersionOrigins(
        versions=versions, tasks={where: _beacon(state) for where, state in history.entered(tasks).items()}
    )


def _refuse_shallow(repository: GitRepository) -> None:
    if repository.is_shallow():
        raise CommandError(
            OUR_FAULT, "the clone is shallow, so no beacon can be told; check out with fetch-depth: 2147483647"
        )


def _refuse_missing(folder: str, digest: str) -> NoReturn:
    raise CommandError(OUR_FAULT, f"{folder}: no commit of main holds version {digest[:12]}")


def _beacon(state: FolderState) -> SeedBeacon:
    return SeedBeacon(sha=state.sha, committed_at=state.committed_at)


def version_beacons(
    repository: GitRepository, main_sha: str, digests: Mapping[AgentName, str]
) -> dict[AgentName, SeedBeacon]:
    """The beacons of those versions that are on main; none in a shallow clone."""
    if repository.is_shallow():
        return {}
    history = FolderHistory(repository, main_sha)
    standing = history.digests(digests)
    oldest: dict[AgentName, FolderState | None] = {
        **history.first([name for name in digests if standing.get(name) == digests[name]])
    }
    for name in digests.keys() - oldest.keys():
        oldest[name] = next(history.holding(name[0], digests[name]), None)
    return {name: _beacon(state) for name in digests if (state := oldest[name])}


def beacon_order(repository: GitRepository, main_sha: str) -> dict[str, int]:
    """Each commit's position in main's history: of two players' beacons the later one counts."""
    commits = repository.first_parent(main_sha)
    return {sha: len(commits) - age for age, sha in enumerate(commits)}
