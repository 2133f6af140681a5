"""The beacon: the oldest first-parent commit of main whose tree holds an agent's version. Nobody can foresee its id."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from evaluator.host.load import LoadError, parse_submission
from evaluator.model.submission import MANIFEST_NAME, submission_digest
from scripts.bot.git import REGULAR, Repository, checked
from scripts.console import OUR_FAULT, CommandError

ROOT = "submissions"
_COMMIT = re.compile(r"([0-9a-f]{40,64}) (\S+)")

Name = tuple[str, str]
"""Login and agent, as the folders are spelled."""


@dataclass(frozen=True, kw_only=True)
class Beacon:
    """Where an agent's seeds come from."""

    sha: str
    """The commit."""
    committed_at: str
    """When, as the commit says."""
    verified: bool | None = None
    """Whether GitHub signed it; None while nobody asked."""


def beacon(repository: Repository, main_sha: str, login: str, agent: str, digest: str) -> Beacon:
    """The beacon of one version.

    Raises:
        CommandError: the clone is shallow, or the version does not stand on main.
    """
    folder = f"{ROOT}/{login}/{agent}"
    _refuse_shallow(repository)
    commits = _history(repository, main_sha, folder).get((login, agent), [])
    oldest = next((commit for commit in commits if _digest(repository, commit.sha, folder) == digest), None)
    return oldest or _missing(folder, digest)


def beacons(repository: Repository, main_sha: str, digests: Mapping[Name, str]) -> dict[Name, Beacon]:
    """The beacons of the versions that stand on main now, with one walk through history.

    An agent that one commit brought and none changed has that commit's version: its files need not be read again.

    Raises:
        CommandError: the clone is shallow, or a version does not stand on main.
    """
    _refuse_shallow(repository)
    history = _history(repository, main_sha, ROOT)
    found = {}
    for name, digest in digests.items():
        folder = f"{ROOT}/{name[0]}/{name[1]}"
        commits = history.get(name, [])
        if len(commits) > 1:
            commits = [commit for commit in commits if _digest(repository, commit.sha, folder) == digest]
        found[name] = commits[0] if commits else _missing(folder, digest)
    return found


def _refuse_shallow(repository: Repository) -> None:
    if repository.is_shallow():
        raise CommandError(OUR_FAULT, "the clone is shallow, so no beacon can be told; check out with fetch-depth: 0")


def _missing(folder: str, digest: str) -> NoReturn:
    raise CommandError(OUR_FAULT, f"{folder}: no commit of main holds version {digest[:12]}")


def verify(found: Iterable[Beacon], verified: Callable[[str], bool]) -> dict[str, Beacon]:
    """Ask once for each commit whether GitHub signed it; by the commit's id."""
    return {item.sha: replace(item, verified=verified(item.sha)) for item in {item.sha: item for item in found}.values()}


def _history(repository: Repository, main_sha: str, folder: str) -> dict[Name, list[Beacon]]:
    """For each agent the commits of main that changed its folder, oldest first.

    A path never passes for a commit: it begins with the folder's name, whatever an entrant called his files.
    """
    form = ("--first-parent", "-m", "--no-renames", "--name-only", "-z", "--format=%H %cI")
    raw = repository.run("log", *form, checked(main_sha), "--", folder)
    found: dict[Name, list[Beacon]] = {}
    current: Beacon | None = None
    for token in raw.decode("utf-8", "replace").split("\0"):
        text = token.strip("\n")
        parts = text.split("/")
        if parts[0] == ROOT and len(parts) > 3 and current:
            own = found.setdefault((parts[1], parts[2]), [])
            if not own or own[-1] is not current:
                own.append(current)
        elif match := _COMMIT.fullmatch(text):
            current = Beacon(sha=match[1], committed_at=match[2])
    return {name: commits[::-1] for name, commits in found.items()}


def _digest(repository: Repository, commit: str, path: str) -> str | None:
    """The digest of a folder at a commit, without the caps of today, which old versions need not keep."""
    leaves = repository.leaves(commit, path)
    if not leaves or any(leaf.mode not in REGULAR for leaf in leaves):
        return None
    blobs = repository.blobs(commit, path)
    manifest = next((blob.content for blob in blobs if blob.path == MANIFEST_NAME), None)
    try:
        return None if manifest is None else submission_digest(parse_submission(manifest), blobs)
    except LoadError:
        return None
