"""Whether a changed folder is a copy of another agent's, also where only what does not matter to an agent differs.

Two folders are the same agent if the same code of theirs runs and their files are the same, apart from modes, line ends and
empty files, whether they lie in the folder or are fetched. Which version a folder holds is another question: there every
byte counts.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap

from evaluator.host.loading.yaml_loader import LoadError, parse_submission
from evaluator.model.config.submission import MANIFEST_NAME
from leaderboard.core.versions import twin_fault
from scripts.git.git_repository import GitRepository, TreeLeaf

# Only the line ends of files up to this size are looked at; weights are compared as they are.
_TEXT_BYTES = 128 << 10
# Files of others that are read for one changed folder: a pull request cannot make the guard read all of main.
_OTHERS_READ = 500
# Line ends that a copy may have more after its last line, in bytes.
_LAST_LINE_ENDS = 4


@dataclass(frozen=True, kw_only=True)
class _Folder:
    """The files of an agent, without its manifest and without empty files, by path."""

    path: str
    leaves: Mapping[bytes, TreeLeaf]
    manifest: str
    """Its object name."""
    empty: frozenset[bytes]


def copy_faults(
    repository: GitRepository, unchanged: Mapping[str, Sequence[TreeLeaf]], changed: Mapping[str, Sequence[TreeLeaf]]
) -> list[str]:
    """A line for each changed folder that is the same agent as another folder, under another login or of the same one.

    Args:
        repository: has the objects of both.
        unchanged: folder on main to its files.
        changed: folder of the pull request to its files.
    """
    by_names: dict[frozenset[bytes], list[_Folder]] = defaultdict(list)
    for path, leaves in {**unchanged, **changed}.items():
        if folder := _folder(path, leaves):
            by_names[frozenset(folder.leaves)].append(folder)
    faults = []
    for path, leaves in sorted(changed.items()):
        if folder := _folder(path, leaves):
            manifest = _read_manifests(repository, [folder.manifest])[0]
            if manifest is None:
                continue
            every = folder.leaves.keys() | manifest.fetched.keys()
            similar = (other for names, others in by_names.items() if names <= every for other in others)
            others = (other for other in similar if other.path != path)
            faults += [f"{path}: {fault}" for fault in _faults_of(repository, folder, manifest, others)]
    return faults


def _folder(path: str, leaves: Iterable[TreeLeaf]) -> _Folder | None:
    """The folder; None without a manifest."""
    start = len(path.encode()) + 1
    inside = {leaf.path[start:]: leaf for leaf in leaves}
    manifest = inside.pop(MANIFEST_NAME.encode(), None)
    if manifest is None:
        return None
    empty = frozenset(name for name, leaf in inside.items() if leaf.size == 0)
    kept = {name: leaf for name, leaf in inside.items() if name not in empty}
    return _Folder(path=path, leaves=kept, manifest=manifest.oid, empty=empty)


def _faults_of(
    repository: GitRepository, folder: _Folder, manifest: "_Manifest", others: Iterable[_Folder]
) -> Iterator[str]:
    lines = _Lines(repository)
    others = [other for other in others if all(starmap(_may_be_text, _pairs(folder, other)))]
    lines.read(ours for other in others for ours, theirs in _pairs(folder, other) if ours.oid != theirs.oid)
    others = [other for other in others if all(starmap(lines.may_be, _pairs(folder, other)))][:_OTHERS_READ]
    lines.read(theirs for other in others for ours, theirs in _pairs(folder, other) if ours.oid != theirs.oid)
    alike = [other for other in others if all(starmap(lines.are_equal, _pairs(folder, other)))]
    alike.sort(key=lambda other: other.path)
    for other, other_manifest in zip(alike, _read_manifests(repository, [other.manifest for other in alike]), strict=True):
        if other_manifest is None or manifest.code != other_manifest.code:
            continue
        if _elsewhere(repository, folder, manifest, other) == _elsewhere(repository, other, other_manifest, folder):
            yield _fault(folder, other, _differences(folder, other, manifest, other_manifest))


def _elsewhere(repository: GitRepository, one: _Folder, manifest: "_Manifest", other: _Folder) -> dict[bytes, str]:
    """The hashes of a folder's files, fetched ones included, that do not lie in both folders."""
    own = {name: leaf.oid for name, leaf in one.leaves.items() if name not in other.leaves}
    contents = repository.read(list(own.values())) if own else []
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in zip(own, contents, strict=True)}
    return {**manifest.fetched, **hashes}


@dataclass(frozen=True)
class _Manifest:
    """What of a manifest says which agent it is."""

    code: tuple[object, ...]
    """Kind, adapter and the file that runs: with equal files, this is the agent."""
    fetched: dict[bytes, str]
    """The hashes of the files that are fetched."""
    identity: dict[str, object]

    @property
    def settings(self) -> dict[str, object]:
        """What else defines a version."""
        return {name: value for name, value in self.identity.items() if name != "weights"}


def _read_manifests(repository: GitRepository, oids: Sequence[str]) -> list[_Manifest | None]:
    """The manifests in objects; None for one that is none."""
    return [_manifest(content) for content in repository.read(oids)] if oids else []


def _manifest(content: bytes) -> _Manifest | None:
    try:
        submission = parse_submission(content)
    except LoadError:
        return None
    fetched = {file.encode(): sha256 for file, sha256 in submission.fetched}
    code = submission.kind.value, submission.adapter, submission.source
    return _Manifest(code=code, fetched=fetched, identity=submission.identity())


class _Lines:
    """The files' texts with one kind of line end, by object name; read where needed, and once."""

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._texts: dict[str, bytes] = {}

    def read(self, leaves: Iterable[TreeLeaf]) -> None:
        """Read files."""
        oids = sorted({leaf.oid for leaf in leaves} - self._texts.keys())
        if oids:
            contents = self._repository.read(oids)
            self._texts |= {oid: _with_line_feeds(content) for oid, content in zip(oids, contents, strict=True)}

    def may_be(self, ours: TreeLeaf, theirs: TreeLeaf) -> bool:
        """Whether a size leaves open that a file has the lines of one that was read: each ends in one byte or two."""
        if ours.oid == theirs.oid:
            return True
        text = self._texts[ours.oid]
        return len(text) <= theirs.size <= len(text) + text.count(b"\n") + _LAST_LINE_ENDS

    def are_equal(self, ours: TreeLeaf, theirs: TreeLeaf) -> bool:
        """Whether two files have the same lines."""
        return ours.oid == theirs.oid or self._texts[ours.oid] == self._texts[theirs.oid]


def _pairs(one: _Folder, other: _Folder) -> list[tuple[TreeLeaf, TreeLeaf]]:
    """The files of the same names that lie in both."""
    return [(leaf, other.leaves[name]) for name, leaf in one.leaves.items() if name in other.leaves]


def _may_be_text(ours: TreeLeaf, theirs: TreeLeaf) -> bool:
    """Whether two files are one object, or small enough to be read for their line ends."""
    return ours.oid == theirs.oid or max(ours.size, theirs.size) <= _TEXT_BYTES


def _with_line_feeds(content: bytes) -> bytes:
    """The text with one kind of line end, and none at its end."""
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").rstrip(b"\n")


def _differences(one: _Folder, other: _Folder, manifest: _Manifest, other_manifest: _Manifest) -> list[str]:
    """What differs that makes no other agent."""
    pairs = _pairs(one, other)
    differences = {
        "modes of files": any(first.mode != second.mode for first, second in pairs),
        "line ends": any(first.oid != second.oid for first, second in pairs),
        "empty files": one.empty != other.empty,
        "which files are fetched": manifest.fetched != other_manifest.fetched,
        "settings that run no other code": manifest.settings != other_manifest.settings,
    }
    return [words for words, differ in differences.items() if differ]


def _fault(one: _Folder, other: _Folder, differences: list[str]) -> str:
    how = f" apart from {' and '.join(differences)}" if differences else ""
    if not differences and one.manifest == other.manifest:
        how = ", byte for byte"
    if other.path.split("/")[1].casefold() == one.path.split("/")[1].casefold():
        return twin_fault(other.path + how)
    return f"is the same agent as {other.path}{how}, which stands on main already; enter one of your own"
