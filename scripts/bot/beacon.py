"""The beacon: the oldest first-parent commit of main whose tree holds an agent's version. Nobody can foresee its id."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from evaluator.host.load import LoadError, parse_submission
from evaluator.model.submission import MANIFEST_NAME, submission_digest
from scripts.board import LOCAL
from scripts.bot.git import REGULAR, Repository, checked
from scripts.console import OUR_FAULT, CommandError

ROOT, EXAMPLES = "submissions", "example_agents"
_COMMIT = re.compile(r"([0-9a-f]{40,64}) (\S+)")

Name = tuple[str, str]
"""Login and agent, as the folders are spelled; the examples are those of the login `local`."""


@dataclass(frozen=True, kw_only=True)
class Beacon:
    """Where an agent's seeds come from."""

    sha: str
    """The commit."""
    committed_at: str
    """When, as the commit says."""
    verified: bool | None = None
    """Whether GitHub signed it; None while nobody asked."""


def folder_of(name: Name) -> str:
    """Where an agent lies in the repository."""
    return f"{EXAMPLES}/{name[1]}" if name[0] == LOCAL else f"{ROOT}/{name[0]}/{name[1]}"


def name_of(parts: Sequence[str]) -> Name | None:
    """Whose agent a file belongs to, by the parts of its path; None where it is nobody's."""
    if parts[0] == EXAMPLES:
        return (LOCAL, parts[1]) if len(parts) > 2 else None
    own = parts[0] == ROOT and len(parts) > 3 and parts[1].casefold() != LOCAL
    return (parts[1], parts[2]) if own else None


def beacon(repository: Repository, main_sha: str, login: str, agent: str, digest: str) -> Beacon:
    """The beacon of one version.

    Raises:
        CommandError: the clone is shallow, or the version does not stand on main.
    """
    folder = folder_of((login, agent))
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
    history = _history(repository, main_sha, ROOT, EXAMPLES)
    found = {}
    for name, digest in digests.items():
        folder = folder_of(name)
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


def arrived(repository: Repository, main_sha: str, digests: Mapping[Name, str]) -> dict[Name, Beacon]:
    """The beacons of those versions that stand on main; others have none, and a shallow clone tells none."""
    if repository.is_shallow():
        return {}
    history = _history(repository, main_sha, ROOT, EXAMPLES)
    found = {}
    for name, digest in digests.items():
        commits = (commit for commit in history.get(name, []) if _digest(repository, commit.sha, folder_of(name)) == digest)
        if (commit := next(commits, None)) is not None:
            found[name] = commit
    return found


def verify(found: Iterable[Beacon], verified: Callable[[str], bool]) -> dict[str, Beacon]:
    """Ask once for each commit whether GitHub signed it; by the commit's id."""
    return {item.sha: replace(item, verified=verified(item.sha)) for item in {item.sha: item for item in found}.values()}


def order(repository: Repository, main_sha: str) -> dict[str, int]:
    """Each commit's place in main's history, the later the greater: of two players' beacons the later one counts."""
    commits = repository.first_parent(main_sha)
    return {sha: len(commits) - age for age, sha in enumerate(commits)}


def _history(repository: Repository, main_sha: str, *folders: str) -> dict[Name, list[Beacon]]:
    """For each agent the commits of main that changed its folder, oldest first.

    A path never passes for a commit: it begins with the folder's name, whatever an entrant called his files.
    """
    form = ("--first-parent", "-m", "--no-renames", "--name-only", "-z", "--format=%H %cI")
    raw = repository.run("log", *form, checked(main_sha), "--", *folders)
    found: dict[Name, list[Beacon]] = {}
    current: Beacon | None = None
    for token in raw.decode("utf-8", "replace").split("\0"):
        text = token.strip("\n")
        name = name_of(text.split("/"))
        if name and current:
            own = found.setdefault(name, [])
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
