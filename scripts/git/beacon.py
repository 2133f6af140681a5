"""The beacon: the oldest first-parent commit of main at which any folder of a login entered a version for a task.

Nobody can foresee its id, and no other folder of the same login draws another one for the same bytes. A task that is named
later has a later beacon: else one could merge many versions, try their seeds for it at home, and name it in the best.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from leaderboard.core.entry import AgentName
from scripts.console import OUR_FAULT, CommandError
from scripts.git.folder_history import EXAMPLES as EXAMPLES
from scripts.git.folder_history import ROOT as ROOT
from scripts.git.folder_history import FolderHistory, FolderState
from scripts.git.folder_history import folder_of as folder_of
from scripts.git.folder_history import name_of as name_of
from scripts.git.git_repository import GitRepository


@dataclass(frozen=True, kw_only=True)
class SeedBeacon:
    """Where an agent's seeds come from."""

    sha: str
    """The commit."""
    committed_at: str
    """When, as the commit says."""
    verified: bool | None = None
    """Whether GitHub signed it; None while nobody asked."""


@dataclass(frozen=True, kw_only=True)
class VersionOrigins:
    """Where the seeds of what stands on main come from."""

    versions: dict[AgentName, SeedBeacon]
    """The commit that brought each folder's version."""
    tasks: dict[tuple[AgentName, str], SeedBeacon]
    """For each folder and task the commit that entered the version for the task."""


def beacon(repository: GitRepository, main_sha: str, login: str, agent: str, digest: str) -> SeedBeacon:
    """The commit that brought one version.

    Raises:
        CommandError: the clone is shallow, or the version does not stand on main.
    """
    _refuse_shallow(repository)
    oldest = next(FolderHistory(repository, main_sha).holding(login, digest), None)
    return _beacon(oldest) if oldest else _missing(folder_of(AgentName(login, agent)), digest)


def origins(
    repository: GitRepository, main_sha: str, digests: Mapping[AgentName, str], tasks: Mapping[AgentName, Collection[str]]
) -> VersionOrigins:
    """The beacons of the versions that stand on main now, with one walk through history.

    Args:
        repository: a clone with all of main's history.
        main_sha: the commit of main.
        digests: the version that each folder holds.
        tasks: the ids of the tasks that each folder enters.

    Raises:
        CommandError: the clone is shallow, or a version does not stand on main.
    """
    _refuse_shallow(repository)
    history = FolderHistory(repository, main_sha)
    # What a folder holds now has its digest, so hardly a file needs to be read.
    oldest = history.first(digests.keys())
    versions = {
        name: _beacon(oldest[name]) if name in oldest else _missing(folder_of(name), digest)
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


def _missing(folder: str, digest: str) -> NoReturn:
    raise CommandError(OUR_FAULT, f"{folder}: no commit of main holds version {digest[:12]}")


def _beacon(state: FolderState) -> SeedBeacon:
    return SeedBeacon(sha=state.sha, committed_at=state.committed_at)


def arrived(repository: GitRepository, main_sha: str, digests: Mapping[AgentName, str]) -> dict[AgentName, SeedBeacon]:
    """The beacons of those versions that stand on main; others have none, and a shallow clone tells none."""
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


def verify(found: Iterable[SeedBeacon], verified: Callable[[str], bool]) -> dict[str, SeedBeacon]:
    """Ask once for each commit whether GitHub signed it; by the commit's id."""
    return {item.sha: replace(item, verified=verified(item.sha)) for item in {item.sha: item for item in found}.values()}


def beacon_order(repository: GitRepository, main_sha: str) -> dict[str, int]:
    """Each commit's place in main's history, the later the greater: of two players' beacons the later one counts."""
    commits = repository.first_parent(main_sha)
    return {sha: len(commits) - age for age, sha in enumerate(commits)}
