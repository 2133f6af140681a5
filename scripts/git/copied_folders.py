"""Whether a changed folder is a copy of another agent's, also where only what does not matter to an agent differs.

Two folders are the same agent if the same code of theirs runs and their files are the same, apart from modes, line ends and
empty files. Which version a folder holds is another question: there every byte counts.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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


class AlikeFolders:
    """Folders by the names of their files, since a copy has the same ones."""

    def __init__(self, folders: Mapping[str, Iterable[TreeLeaf]]) -> None:
        """Sort folders in; `folders`: path to files."""
        self._by_names: dict[frozenset[bytes], list[_Folder]] = defaultdict(list)
        for path, leaves in folders.items():
            if folder := _folder(path, leaves):
                self._by_names[frozenset(folder.leaves)].append(folder)

    def of(self, folder: _Folder) -> Sequence[_Folder]:
        """The folders whose files have the names of this one's, itself included if it is among them."""
        return self._by_names.get(frozenset(folder.leaves), ())


def copy_faults(
    repository: GitRepository,
    on_main: AlikeFolders,
    changed: Mapping[str, Sequence[TreeLeaf]],
    *,
    removed: Collection[str],
) -> list[str]:
    """A line for each changed folder that is the same agent as another folder, under another login or of the same one.

    Args:
        repository: has the objects of both.
        on_main: the folders on main.
        changed: folder of the pull request to its files.
        removed: the folders on main that will not be there any more, or not with the same files.
    """
    faults, here = [], AlikeFolders(changed)
    for path, leaves in sorted(changed.items()):
        if folder := _folder(path, leaves):
            others = [other for other in on_main.of(folder) if other.path not in removed and other.path not in changed]
            others += [other for other in here.of(folder) if other.path != path]
            faults += [f"{path}: {fault}" for fault in _faults_of(repository, folder, others)]
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


def _faults_of(repository: GitRepository, folder: _Folder, others: Iterable[_Folder]) -> Iterator[str]:
    lines = _Lines(repository)
    others = [other for other in others if all(starmap(_may_be_text, _pairs(folder, other)))]
    lines.read(ours for other in others for ours, theirs in _pairs(folder, other) if ours.oid != theirs.oid)
    others = [other for other in others if all(starmap(lines.may_be, _pairs(folder, other)))][:_OTHERS_READ]
    lines.read(theirs for other in others for ours, theirs in _pairs(folder, other) if ours.oid != theirs.oid)
    alike = [other for other in others if all(starmap(lines.are_equal, _pairs(folder, other)))]
    manifest = _Manifest.read(repository, folder.manifest) if alike else None
    for other in sorted(alike, key=lambda other: other.path):
        other_manifest = _Manifest.read(repository, other.manifest)
        if manifest is not None and other_manifest is not None and manifest.code == other_manifest.code:
            yield _fault(folder, other, _differences(folder, other, manifest, other_manifest))


@dataclass(frozen=True)
class _Manifest:
    """What of a manifest says which agent it is."""

    code: tuple[object, ...]
    """Kind, adapter, the file that runs, and what is fetched: with equal files, this is the agent."""
    identity: dict[str, object]

    @classmethod
    def read(cls, repository: GitRepository, oid: str) -> "_Manifest | None":
        """The manifest in an object; None if it is none."""
        try:
            submission = parse_submission(repository.read([oid])[0])
        except LoadError:
            return None
        runs = submission.kind.value, submission.adapter, submission.source
        return cls((*runs, submission.fetched), submission.identity())


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
    """The files of the same names."""
    return [(leaf, other.leaves[name]) for name, leaf in one.leaves.items()]


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
        "settings that run no other code": manifest.identity != other_manifest.identity,
    }
    return [words for words, differ in differences.items() if differ]


def _fault(one: _Folder, other: _Folder, differences: list[str]) -> str:
    how = f" apart from {' and '.join(differences)}" if differences else ""
    if not differences and one.manifest == other.manifest:
        how = ", byte for byte"
    if other.path.split("/")[1].casefold() == one.path.split("/")[1].casefold():
        return twin_fault(other.path + how)
    return f"is the same agent as {other.path}{how}, which stands on main already; enter one of your own"
