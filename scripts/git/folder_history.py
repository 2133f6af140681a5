"""What agents' folders held, commit by commit along main's first parents: one walk of git for all of them.

The walk prints which files each commit changed and their objects, so what a folder held is known without looking at a
tree. File contents are read only where two states differ in the manifest alone, or where a digest itself is asked for.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evaluator.host.loading.yaml_loader import LoadError, parse_submission
from evaluator.model import canonical_json
from evaluator.model.config.submission import MANIFEST_NAME, Submission, SubmissionFile, submission_digest
from leaderboard.core.eligibility import LOCAL
from leaderboard.core.entry import AgentName
from scripts.git.git_repository import REGULAR, GitRepository, checked

ROOT, EXAMPLES = "submissions", "example_agents"
# So many versions are read at a time, with all their files.
BATCH = 50
_GONE = "000000"

File = tuple[str, str, str]
"""Mode, path inside the folder, and object."""


def name_of(parts: Sequence[str]) -> AgentName | None:
    """Whose agent a file belongs to, by the parts of its path; None where it is nobody's."""
    if parts[0] == EXAMPLES:
        return AgentName(LOCAL, parts[1]) if len(parts) > 2 else None
    own = parts[0] == ROOT and len(parts) > 3 and parts[1].casefold() != LOCAL
    return AgentName(parts[1], parts[2]) if own else None


def folder_of(name: AgentName) -> str:
    """Where an agent lies in the repository."""
    return f"{EXAMPLES}/{name[1]}" if name[0] == LOCAL else f"{ROOT}/{name[0]}/{name[1]}"


@dataclass(frozen=True)
class FolderContent:
    """What a folder holds, as far as it is part of a version; equal contents are one version."""

    rest: str
    """A hash over all files but the manifest."""
    manifest: str
    """The manifest's object."""


@dataclass(frozen=True)
class FolderState:
    """A folder after a commit that changed it."""

    name: AgentName
    """Whose."""
    sha: str
    """The commit."""
    committed_at: str
    """When, as the commit says."""
    content: FolderContent
    """What it held then."""


class FolderHistory:
    """The states of all agents' folders."""

    def __init__(self, repository: GitRepository, main_sha: str) -> None:
        """Walk from a commit to main's first one.

        Raises:
            GitError: there is no such commit here, or git takes too long.
        """
        self._repository = repository
        self._states: dict[str, list[FolderState]] = {}
        self._now: dict[AgentName, FolderContent | None] = {}
        self._files: dict[FolderContent, tuple[File, ...]] = {}
        self._digests: dict[FolderContent, str | None] = {}
        self._manifests: dict[str, Submission | None] = {}
        self._identities: dict[str, str] = {}
        folders: dict[AgentName, dict[str, File]] = {}
        for sha, committed_at, changes in _commits(repository, main_sha):
            for name in _applied(folders, changes):
                content = self._now[name] = self._content(folders[name].values())
                if content is not None:
                    state = FolderState(name, sha, committed_at, content)
                    self._states.setdefault(name[0].casefold(), []).append(state)

    def of(self, login: str) -> Sequence[FolderState]:
        """Every state of every folder of a login, the oldest first."""
        return self._states.get(login.casefold(), ())

    def first(self, names: Collection[AgentName]) -> dict[AgentName, FolderState]:
        """For each folder the oldest state, in any folder of its login, of the version that it holds now.

        Versions are alike if their files are equal and their manifests differ in words only. Folders that hold none now are
        left out.
        """
        return {name: next(states) for name, states in self._held(names).items()}

    def entered(self, tasks: Mapping[AgentName, Collection[str]]) -> dict[tuple[AgentName, str], FolderState]:
        """For each folder and each task that it enters now the oldest state in which its version entered that task.

        Which tasks are entered is no part of a version, so a task may be named long after the version came.
        """
        found: dict[tuple[AgentName, str], FolderState] = {}
        for name, states in self._held(tasks).items():
            open_tasks = set(tasks[name])
            for state in states:
                entered = {task for task in open_tasks if self.enters(state, task)}
                found |= {(name, task): state for task in entered}
                if not (open_tasks := open_tasks - entered):
                    break
        return found

    def enters(self, state: FolderState, task_id: str) -> bool:
        """Whether a folder's manifest named a task then."""
        self._read_manifests([state.content.manifest])
        submission = self._manifests[state.content.manifest]
        return submission is not None and submission.enters(task_id)

    def _held(self, names: Collection[AgentName]) -> dict[AgentName, Iterator[FolderState]]:
        """For each folder the states, in any folder of its login, of the version that it holds now, the oldest first."""
        alike = {name: self._same_files(now, name[0]) for name in names if (now := self._now.get(name))}
        self._read_manifests({one.manifest for same in alike.values() if len(same) > 1 for one in same})
        return {name: self._those(name, same) for name, same in alike.items()}

    def _those(self, name: AgentName, same: set[FolderContent]) -> Iterator[FolderState]:
        now = self._now[name]
        return (state for state in self.of(name[0]) if state.content in same and self._is_same(state, now))

    def _same_files(self, now: FolderContent, login: str) -> set[FolderContent]:
        return {state.content for state in self.of(login) if state.content.rest == now.rest}

    def _is_same(self, state: FolderState, now: FolderContent | None) -> bool:
        if now is None or state.content == now:
            return True
        identity = self._identities.get(now.manifest)
        return identity is not None and self._identities.get(state.content.manifest) == identity

    def digests(self, names: Iterable[AgentName]) -> dict[AgentName, str | None]:
        """The digests of what folders hold now; None where that is no version."""
        now = {name: content for name in names if (content := self._now.get(name))}
        self._read_digests(now.values())
        return {name: self._digests[content] for name, content in now.items()}

    def holding(self, login: str, digest: str) -> Iterator[FolderState]:
        """The states of a login that are the version with that digest, the oldest first."""
        states = self.of(login)
        self._read_digests({state.content for state in states})
        return (state for state in states if self._digests[state.content] == digest)

    def _content(self, files: Collection[File]) -> FolderContent | None:
        """What files amount to; None where they are no version."""
        if any(mode not in REGULAR for mode, _, _ in files):
            return None
        kept = tuple(sorted(file for file in files if "/__pycache__/" not in f"/{file[1]}"))
        manifest = next((oid for _, path, oid in kept if path == MANIFEST_NAME), None)
        if manifest is None:
            return None
        rest = "\0".join(f"{mode} {oid} {path}" for mode, path, oid in kept if path != MANIFEST_NAME)
        content = FolderContent(hashlib.sha256(rest.encode("utf-8", "surrogateescape")).hexdigest(), manifest)
        self._files.setdefault(content, kept)
        return content

    def _read_manifests(self, manifests: Iterable[str]) -> None:
        oids = sorted(set(manifests) - self._manifests.keys())
        for oid, text in zip(oids, self._repository.read(oids) if oids else (), strict=True):
            try:
                submission = parse_submission(text)
            except LoadError:
                self._manifests[oid] = None
                continue
            self._manifests[oid] = submission
            self._identities[oid] = canonical_json.digest(submission.identity())

    def _read_digests(self, contents: Iterable[FolderContent]) -> None:
        new = sorted(set(contents) - self._digests.keys(), key=lambda content: (content.rest, content.manifest))
        for begin in range(0, len(new), BATCH):
            part = new[begin : begin + BATCH]
            oids = sorted({oid for content in part for _, _, oid in self._files[content]})
            blobs = dict(zip(oids, self._repository.read(oids), strict=True))
            for content in part:
                self._digests[content] = _digest(blobs[content.manifest], self._files[content], blobs)


def _digest(manifest: bytes, files: Iterable[File], blobs: dict[str, bytes]) -> str | None:
    """The digest of files, without the caps of today, which old versions need not keep."""
    try:
        submission = parse_submission(manifest)
    except LoadError:
        return None
    found = [SubmissionFile(path=_shown(path), executable=mode == "100755", content=blobs[oid]) for mode, path, oid in files]
    return submission_digest(submission, found)


def _shown(path: str) -> str:
    """A path as a digest takes it, whatever bytes it is made of."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


Change = tuple[str, str, str]
"""New mode, new object, and path."""


def _commits(repository: GitRepository, main_sha: str) -> Iterator[tuple[str, str, list[Change]]]:
    """Each commit that changed agents' folders, the oldest first: its id, its time, and what it changed.

    A path never passes for a commit, whatever an entrant called his files: one follows each line that begins with a colon.
    """
    form = ("--first-parent", "-m", "--no-renames", "--reverse", "--raw", "--no-abbrev", "-z", "--format=%H %cI")
    raw = repository.run("log", *form, checked(main_sha), "--", ROOT, EXAMPLES)
    tokens = iter(raw.decode("utf-8", "surrogateescape").split("\0"))
    sha, committed_at, changes = "", "", list[Change]()
    for token in tokens:
        text = token.lstrip("\n")
        if text.startswith(":"):
            _, mode, _, oid, _ = text.split(" ")
            changes.append((mode, oid, next(tokens)))
        elif text:
            if sha:
                yield sha, committed_at, changes
            sha, committed_at = text.split(" ")
            changes = []
    if sha:
        yield sha, committed_at, changes


def _applied(folders: dict[AgentName, dict[str, File]], changes: Iterable[Change]) -> set[AgentName]:
    """Bring folders to the state after a commit; returns those that it changed."""
    touched: set[AgentName] = set()
    for mode, oid, path in changes:
        name = name_of(path.split("/"))
        if name is None:
            continue
        touched.add(name)
        inside = path[len(folder_of(name)) + 1 :]
        if mode == _GONE:
            folders.setdefault(name, {}).pop(inside, None)
        else:
            folders.setdefault(name, {})[inside] = (mode, inside, oid)
    return touched
