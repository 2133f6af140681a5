"""The states of agents' folders, commit by commit along main's first parents, from one `git log`.

The log names each commit's changed files and their objects, so no tree is read. File contents are read only if two states
differ in the manifest alone, or for a digest.
"""

import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import groupby

from evaluator.host.loading.manifest import MANIFESTS, manifest_of, parse_source_header
from evaluator.host.loading.yaml_loader import LoadError, parse_submission
from evaluator.model import canonical_json
from evaluator.model.config.source_header import SOURCE_NAME
from evaluator.model.config.submission import Submission, SubmissionFile, submission_digest
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName
from leaderboard.core.owners import author_logins
from scripts.git.git_repository import FILE_MODES, GitRepository, full_sha
from scripts.repository.layout import EXAMPLE_AGENTS, SUBMISSIONS, folder_of

# Versions whose files are read at once.
VERSIONS_AT_ONCE = 50
_GONE_MODE = "000000"
# Whoever makes a commit writes what time he likes. Later ones, in seconds since 1970, are no dates that one can reckon with.
_LATEST = int(datetime(9990, 1, 1, tzinfo=UTC).timestamp())
_COMMITTER = re.compile(rb"^committer .*> (\d{1,20})(?: ([+-])(\d\d)(\d\d)$)?", re.MULTILINE)

FolderFile = tuple[str, str, str]
"""Mode, path inside the folder, and object name."""


def folder_name(parts: Sequence[str]) -> AgentName | None:
    """The agent that a file belongs to, by the parts of its path; None if there is none."""
    if parts[0] == EXAMPLE_AGENTS:
        return AgentName(EXAMPLES_LOGIN, parts[1]) if len(parts) > 2 else None
    is_agent = parts[0] == SUBMISSIONS and len(parts) > 3 and parts[1].casefold() != EXAMPLES_LOGIN
    return AgentName(parts[1], parts[2]) if is_agent else None


@dataclass(frozen=True)
class FolderContent:
    """What of a folder's content defines its version; equal contents are one version."""

    rest: str
    """Hash over all files except submission.yml."""
    manifest: str
    """The object with the manifest."""
    in_header: bool
    """Whether that is the source file, with a header, and not submission.yml."""


@dataclass(frozen=True)
class FolderState:
    """A folder after a commit that changed it."""

    name: AgentName
    sha: str
    committed_at: str
    content: FolderContent


@dataclass(frozen=True, kw_only=True)
class VersionStay:
    """A run of main's commits, as long as possible, in which some folder of a login held a version and entered a task.

    A move between folders, other words in the manifest, or a second folder with the same files neither begin nor end one.
    """

    began: FolderState
    left: str | None = None
    """The commit after which no folder did; None if one does now."""


_FolderChange = tuple[int, str, AgentName, FolderState | None]
"""Its number among those of the login, the commit, the folder, and its state after it; None if it holds no version."""


def _commit_of(change: _FolderChange) -> str:
    return change[1]


class FolderHistory:
    """The states of all agents' folders."""

    def __init__(self, repository: GitRepository, main_sha: str) -> None:
        """Read the history of a commit of main.

        Raises:
            GitError: the commit is not here, or git takes too long.
        """
        self._repository = repository
        self._changes: dict[str, list[_FolderChange]] = {}
        # An account may have hundreds of folders and change all of them again and again.
        self._changes_of_folder: dict[AgentName, list[_FolderChange]] = {}
        self._states: dict[tuple[str, str], list[FolderState]] = {}
        self._now: dict[AgentName, FolderContent | None] = {}
        self._files: dict[FolderContent, tuple[FolderFile, ...]] = {}
        self._digests: dict[FolderContent, str | None] = {}
        self._manifests: dict[_Manifest, Submission | None] = {}
        self._identities: dict[_Manifest, str] = {}
        folders: dict[AgentName, dict[str, FolderFile]] = {}
        for sha, committed_at, changes in read_commits(repository, main_sha, SUBMISSIONS, EXAMPLE_AGENTS):
            for name in _apply_changes(folders, changes):
                content = self._now[name] = self._content(folders[name].values())
                state = FolderState(name, sha, committed_at, content) if content else None
                self._add(sha, name, state)

    def _add(self, sha: str, name: AgentName, state: FolderState | None) -> None:
        login = name[0].casefold()
        changes = self._changes.setdefault(login, [])
        change = (len(changes), sha, name, state)
        changes.append(change)
        self._changes_of_folder.setdefault(name, []).append(change)
        if state:
            self._states.setdefault((login, state.content.rest), []).append(state)

    def _with_files(self, login: str, content: FolderContent) -> Sequence[FolderState]:
        """The states of a login whose files are those of a content, but for the manifest, oldest first."""
        return self._states.get((login.casefold(), content.rest), ())

    def logins(self) -> list[str]:
        """Everybody who ever had a folder, in lower case."""
        return list(self._changes)

    def of(self, login: str) -> list[FolderState]:
        """All states of all folders of a login that held a version, oldest first."""
        return [state for *_, state in self._changes.get(login.casefold(), ()) if state]

    def first(self, names: Collection[AgentName]) -> dict[AgentName, FolderState]:
        """For each folder the oldest state, in any folder of its login, of the version that it holds now.

        Versions are equal if their files are, and their manifests differ in descriptions only. Folders without a version now
        are left out.
        """
        return {
            name: next(state for state in self._with_files(name[0], now) if state.content in contents)
            for name, contents in self._versions(names).items()
            if (now := self._now[name])
        }

    def in_several_states(self, names: Iterable[AgentName]) -> list[AgentName]:
        """The folders whose present files stood in several states of their login: only those can have several stays."""
        present = ((name, now) for name in names if (now := self._now.get(name)))
        return [name for name, now in present if len(self._with_files(name[0], now)) > 1]

    def stays(self, tasks: Mapping[AgentName, Collection[str]]) -> dict[tuple[AgentName, str], list[VersionStay]]:
        """For each folder and task the stays of the version that the folder holds now, oldest first.

        Tasks are not part of a version: a task may be named, or left, long after the version came.
        """
        versions = self._versions(tasks)
        self._read_manifests({_manifest(content) for contents in versions.values() for content in contents})
        return {
            (name, task): self._runs(self._with_files(name[0], now), self._held(contents, task))
            for name, contents in versions.items()
            if (now := self._now[name])
            for task in tasks[name]
        }

    def stays_of(self, login: str, digest: str, task_id: str) -> list[VersionStay]:
        """The stays of the version of a login with that digest, oldest first."""
        states = list(self.holding(login, digest))
        contents = {state.content for state in states}
        self._read_manifests(set(map(_manifest, contents)))
        return self._runs(states, self._held(contents, task_id))

    def naming(self, authors: Mapping[str, Collection[str]]) -> dict[tuple[str, str], FolderState]:
        """For each owner and each login that its folders name as an author now, the state with which they began to.

        Other versions and folders do not begin anew, as long as one of them names the login after each commit.

        `authors`: owner to the logins that are looked for, all in lower case.
        """
        self._read_manifests({_manifest(state.content) for owner in authors for state in self.of(owner)})
        return {
            (owner, login): state
            for owner, logins in authors.items()
            for login, state in self._named_since(owner, logins).items()
        }

    def _named_since(self, owner: str, wanted: Collection[str]) -> dict[str, FolderState]:
        """`naming` of one owner, by one walk for all logins: twenty in each of hundreds of folders are thousands."""
        named, since = dict[AgentName, frozenset[str]](), dict[str, FolderState]()
        folders = Counter[str]()
        for _, changes in groupby(self._changes.get(owner.casefold(), ()), key=_commit_of):
            left, begun = set[str](), dict[str, FolderState]()
            for _, _, name, state in changes:
                submission = self._manifests[_manifest(state.content)] if state else None
                logins = author_logins(submission).intersection(wanted) if submission else frozenset()
                before, named[name] = named.get(name, frozenset()), logins
                folders.update(logins)
                folders.subtract(before)
                left |= before - logins
                begun |= dict.fromkeys(logins, state) if state else {}
            since = begun | since
            for login in left:
                if not folders[login]:
                    del since[login]
        return since

    def _held(self, contents: Collection[FolderContent], task_id: str) -> Callable[[FolderState], bool]:
        return lambda state: state.content in contents and self._enters(state, task_id)

    def _runs(self, states: Iterable[FolderState], fits: Callable[[FolderState], bool]) -> list[VersionStay]:
        """The stays in which some folder fits, of those states of a login that may.

        A commit is looked at as a whole: a move begins no stay.
        """
        folders = {state.name for state in states if fits(state)}
        every = heapq.merge(*(self._changes_of_folder[name] for name in folders), key=lambda change: change[0])
        stays: list[VersionStay] = []
        holding: set[AgentName] = set()
        for sha, changes in groupby(every, key=_commit_of):
            was_held, began = bool(holding), None
            for _, _, name, state in changes:
                if state and fits(state):
                    holding.add(name)
                    began = state
                else:
                    holding.discard(name)
            if began and not was_held:
                stays.append(VersionStay(began=began))
            elif was_held and not holding:
                stays[-1] = replace(stays[-1], left=sha)
        return stays

    def _enters(self, state: FolderState, task_id: str) -> bool:
        submission = self._manifests[_manifest(state.content)]
        return submission is not None and submission.enters(task_id)

    def _versions(self, names: Collection[AgentName]) -> dict[AgentName, set[FolderContent]]:
        """For each folder all contents, in any folder of its login, that are the version which it holds now."""
        alike = {
            name: {state.content for state in self._with_files(name[0], now)}
            for name in names
            if (now := self._now.get(name))
        }
        several = (contents for contents in alike.values() if len(contents) > 1)
        self._read_manifests({_manifest(content) for contents in several for content in contents})
        return {
            name: {content for content in contents if self._is_same(content, self._now[name])}
            for name, contents in alike.items()
        }

    def _is_same(self, content: FolderContent, now: FolderContent | None) -> bool:
        if now is None or content == now:
            return content == now
        if content.in_header != now.in_header:  # With the same files one of the two has both manifests, or none.
            return False
        identity = self._identities.get(_manifest(now))
        return identity is not None and self._identities.get(_manifest(content)) == identity

    def digests(self, names: Iterable[AgentName]) -> dict[AgentName, str | None]:
        """The digests of the current contents; None for what is not a version."""
        now = {name: content for name in names if (content := self._now.get(name))}
        self._read_digests(now.values())
        return {name: self._digests[content] for name, content in now.items()}

    def holding(self, login: str, digest: str) -> Iterator[FolderState]:
        """The states of a login with the version of that digest, oldest first."""
        states = self.of(login)
        self._read_digests({state.content for state in states})
        return (state for state in states if self._digests[state.content] == digest)

    def _content(self, files: Collection[FolderFile]) -> FolderContent | None:
        """The content of a folder's files; None if they are no version."""
        if any(mode not in FILE_MODES for mode, _, _ in files):
            return None
        hashed = tuple(sorted(file for file in files if "/__pycache__/" not in f"/{file[1]}"))
        oids = {path: oid for _, path, oid in hashed}
        holder = next((name for name in MANIFESTS if name in oids), None)
        if holder is None:
            return None
        in_header = holder == SOURCE_NAME
        # A header is a part of the agent's source, submission.yml is not.
        others = (f"{mode} {oid} {path}" for mode, path, oid in hashed if in_header or path != holder)
        rest = hashlib.sha256("\0".join(others).encode("utf-8", "surrogateescape")).hexdigest()
        content = FolderContent(rest, oids[holder], in_header)
        self._files.setdefault(content, hashed)
        return content

    def _read_manifests(self, manifests: Iterable["_Manifest"]) -> None:
        new = sorted(set(manifests) - self._manifests.keys())
        texts = self._repository.read_each([oid for oid, _ in new])
        for manifest, text in zip(new, texts, strict=True):
            _, in_header = manifest
            try:
                submission = parse_source_header(text) if in_header else parse_submission(text)
            except LoadError:
                self._manifests[manifest] = None
                continue
            self._manifests[manifest] = submission
            self._identities[manifest] = canonical_json.digest(submission.identity())

    def _read_digests(self, contents: Iterable[FolderContent]) -> None:
        new = sorted(set(contents) - self._digests.keys(), key=lambda content: (content.rest, content.manifest))
        for begin in range(0, len(new), VERSIONS_AT_ONCE):
            part = new[begin : begin + VERSIONS_AT_ONCE]
            oids = sorted({oid for content in part for _, _, oid in self._files[content]})
            blobs = dict(zip(oids, self._repository.read_each(oids), strict=True))
            for content in part:
                self._digests[content] = _digest(self._files[content], blobs)


_Manifest = tuple[str, bool]
"""The object that a manifest is read from, and whether it is a header there."""


def _manifest(content: FolderContent) -> _Manifest:
    return content.manifest, content.in_header


def _digest(files: Collection[FolderFile], blobs: dict[str, bytes]) -> str | None:
    """The digest of files, without today's limits, which old versions may exceed."""
    try:
        submission = manifest_of({path: blobs[oid] for _, path, oid in files if path in MANIFESTS}).parse()
    except LoadError:
        return None
    submission_files = []
    for mode, path, oid in files:
        shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")  # as digests use it, whatever its bytes
        submission_files.append(SubmissionFile(path=shown, executable=mode == "100755", content=blobs[oid]))
    return submission_digest(submission, submission_files)


FileChange = tuple[str, str, str]
"""New mode, new object name, and path."""


def commit_times(repository: GitRepository, shas: Sequence[str]) -> list[datetime]:
    """When commits were made, at the latest in the year 9990, in the zone that each names, else UTC.

    Git's own formats read a commit by the code page that its author named, in which its lines may be others: with no time,
    which ends the reader, or with another one.
    """
    return [_committed_at(content) for content in repository.read_each(shas, kind="commit")]


def _committed_at(content: bytes) -> datetime:
    line = _COMMITTER.search(content.partition(b"\n\n")[0])
    if line is None or int(line[1]) > _LATEST:
        return datetime.fromtimestamp(_LATEST, UTC)
    zone = timedelta(hours=int(line[3] or 0), minutes=int(line[4] or 0)) * (-1 if line[2] == b"-" else 1)
    return datetime.fromtimestamp(int(line[1]), timezone(zone) if abs(zone) < timedelta(days=1) else UTC)


def read_commits(
    repository: GitRepository, main_sha: str, *paths: str, since: str | None = None
) -> Iterator[tuple[str, str, list[FileChange]]]:
    """Id, time and changes of each first-parent commit that changed those paths, oldest first; of those after a commit.

    A path is never taken for a commit, whatever its name: exactly one follows each line that begins with a colon.
    """
    form = ("--first-parent", "-m", "--no-renames", "--reverse", "--raw", "--no-abbrev", "-z", "--format=%H")
    newest = (f"^{full_sha(since)}",) if since else ()
    raw = repository.run("log", *form, full_sha(main_sha), *newest, "--", *paths)
    tokens = iter(raw.decode("utf-8", "surrogateescape").split("\0"))
    commits: dict[str, list[FileChange]] = {}
    changes = list[FileChange]()
    for token in tokens:
        text = token.lstrip("\n")
        if text.startswith(":"):
            _, mode, _, oid, _ = text.split(" ")
            changes.append((mode, oid, next(tokens)))
        elif text:
            changes = commits.setdefault(text, [])
    times = commit_times(repository, list(commits))
    for (sha, of_commit), at in zip(commits.items(), times, strict=True):
        yield sha, at.isoformat(), of_commit


def last_changes(repository: GitRepository, main_sha: str, since: str | None) -> dict[str, str]:
    """The commit by which main last changed a file of each login, in lower case; of the commits after one, or of all."""
    last: dict[str, str] = {}
    for sha, _, changes in read_commits(repository, main_sha, SUBMISSIONS, since=since):
        paths = (path.split("/") for _, _, path in changes)
        last |= dict.fromkeys((parts[1].casefold() for parts in paths if len(parts) > 1), sha)
    return last


def _apply_changes(folders: dict[AgentName, dict[str, FolderFile]], changes: Iterable[FileChange]) -> set[AgentName]:
    """Apply a commit's changes to the folders; returns the names of those that changed."""
    touched: set[AgentName] = set()
    for mode, oid, path in changes:
        name = folder_name(path.split("/"))
        if name is None:
            continue
        touched.add(name)
        inside = path[len(folder_of(name)) + 1 :]
        if mode == _GONE_MODE:
            folders.setdefault(name, {}).pop(inside, None)
        else:
            folders.setdefault(name, {})[inside] = (mode, inside, oid)
    return touched
