"""Whether a changed folder is a copy of another agent's, also where only what does not matter to an agent differs.

Two folders are the same agent if the same code of theirs runs and their files are the same, apart from modes, line ends,
empty files and headers with manifests, whether they lie in the folder or are fetched. Which version a folder holds is
another question: there every byte counts. What everybody starts from, unchanged and with nothing fetched, is no copy.
"""

import hashlib
import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import starmap

from evaluator.host.loading.manifest import MANIFESTS, parse_source_header
from evaluator.host.loading.yaml_loader import LoadError, parse_submission
from evaluator.model.config.image_reference import parse_reference
from evaluator.model.config.source_header import HEADER_BYTES, SOURCE_NAME, without_header
from evaluator.model.config.submission import SubmissionKind
from leaderboard.core.version_folders import duplicate_fault
from scripts.git.git_repository import GitRepository, TreeLeaf
from scripts.repository.layout import TEMPLATE_FOLDER

# Only the line ends of files up to this size are looked at; weights are compared as they are.
_TEXT_BYTES = 128 << 10
# Bytes of others that are read for one changed folder: a pull request cannot make the guard read all of main.
_READ_BYTES = 64 << 20
# Line ends that a copy may have more before its first line and after its last, in bytes.
_OUTER_LINE_ENDS = 4


@dataclass(frozen=True)
class _AgentFile:
    """A file as it is compared."""

    leaf: TreeLeaf
    has_header: bool
    """Whether the manifest is its header, which is no part of the agent."""

    @property
    def key(self) -> tuple[str, bool]:
        """Files of one key are compared by one text."""
        return self.leaf.oid, self.has_header


@dataclass(frozen=True, kw_only=True)
class _Folder:
    """The files of an agent, without submission.yml and without empty files, by path."""

    path: str
    files: Mapping[bytes, _AgentFile]
    manifest: _AgentFile
    empty: frozenset[bytes]


class FoldersByNames:
    """Folders by the names of their files, since a copy has the same ones or fetches them."""

    def __init__(self, folders: Mapping[str, Iterable[TreeLeaf]]) -> None:
        """Sort folders in; `folders`: path to files."""
        self._by_names: dict[frozenset[bytes], list[_Folder]] = defaultdict(list)
        for path, leaves in folders.items():
            if folder := _folder(path, leaves):
                self._by_names[frozenset(folder.files)].append(folder)

    def of(self, folder: _Folder, manifest: "_Manifest") -> list[_Folder]:
        """The folders whose files have names of this one's, fetched ones included; itself too if it is among them."""
        names = folder.files.keys() | manifest.fetched.keys()
        return [other for own, others in self._by_names.items() if own <= names for other in others]


def copy_faults(
    repository: GitRepository,
    on_main: FoldersByNames,
    changed: Mapping[str, Sequence[TreeLeaf]],
    *,
    removed: Collection[str],
) -> list[str]:
    """A line for each changed folder that is the same agent as another folder, under another login or of the same one.

    `changed`: folder of the pull request to its files. `removed`: the folders on main that will not be there any more, or
    not with the same files.
    """
    faults, here, objects = [], FoldersByNames(changed), _Objects(repository)
    for path, leaves in sorted(changed.items()):
        if folder := _folder(path, leaves):
            manifest = objects.manifests([folder.manifest])[0]
            if manifest is None:
                continue
            alike = on_main.of(folder, manifest)
            others = [other for other in alike if other.path not in removed and other.path not in changed]
            others += [other for other in here.of(folder, manifest) if other.path != path]
            faults += [f"{path}: {fault}" for fault in _faults_of(objects, folder, manifest, others)]
    return faults


def _folder(path: str, leaves: Iterable[TreeLeaf]) -> _Folder | None:
    """The folder; None without a manifest."""
    start = len(path.encode()) + 1
    inside = {leaf.path[start:]: leaf for leaf in leaves}
    holder = next((name for name in MANIFESTS if name.encode() in inside), None)
    if holder is None:
        return None
    in_header = holder == SOURCE_NAME
    manifest = _AgentFile(inside[holder.encode()] if in_header else inside.pop(holder.encode()), in_header)
    empty = frozenset(name for name, leaf in inside.items() if leaf.size == 0)
    files = {name: _AgentFile(leaf, leaf is manifest.leaf) for name, leaf in inside.items() if name not in empty}
    return _Folder(path=path, files=files, manifest=manifest, empty=empty)


def _faults_of(objects: "_Objects", folder: _Folder, manifest: "_Manifest", others: Iterable[_Folder]) -> Iterator[str]:
    others = [other for other in others if all(starmap(_are_readable, _pairs(folder, other)))]
    objects.read_lines(ours for other in others for ours, theirs in _pairs(folder, other) if ours.key != theirs.key)
    others = _smallest(_READ_BYTES, folder, [o for o in others if all(starmap(objects.may_equal, _pairs(folder, o)))])
    objects.read_lines(theirs for other in others for ours, theirs in _pairs(folder, other) if ours.key != theirs.key)
    alike = [other for other in others if all(starmap(objects.are_equal, _pairs(folder, other)))]
    alike.sort(key=lambda other: other.path)
    is_starters = bool(alike) and manifest.lies_here and objects.are_starter_files(folder.files.values())
    for other, other_manifest in zip(alike, objects.manifests([other.manifest for other in alike]), strict=True):
        if is_starters and not _is_same_owner(folder, other):
            continue
        if other_manifest is None or manifest.code != other_manifest.code:
            continue
        if _other_hashes(objects, folder, manifest, other) == _other_hashes(objects, other, other_manifest, folder):
            yield _fault(folder, other, _differences(folder, other, manifest, other_manifest))


def _other_hashes(objects: "_Objects", one: _Folder, manifest: "_Manifest", other: _Folder) -> dict[bytes, str]:
    """The hashes of a folder's files, fetched ones included, that do not lie in both folders."""
    oids = {name: file.leaf.oid for name, file in one.files.items() if name not in other.files}
    return {**manifest.fetched, **dict(zip(oids, objects.hashes(oids.values()), strict=True))}


def _smallest(most: int, folder: _Folder, others: Iterable[_Folder]) -> list[_Folder]:
    """As many of the others as may be read, the smallest first."""
    sizes = [
        (sum(theirs.leaf.size for ours, theirs in _pairs(folder, other) if ours.key != theirs.key), other)
        for other in others
    ]
    sizes.sort(key=lambda pair: pair[0])
    totals = itertools.accumulate(size for size, _ in sizes)
    return [other for (_, other), total in zip(sizes, totals, strict=True) if total <= most]


@dataclass(frozen=True)
class _Manifest:
    """What of a manifest says which agent it is."""

    code: tuple[object, ...]
    """Kind, adapter, and the file that runs or the image's digest: with equal files, this is the agent."""
    fetched: dict[bytes, str]
    """The hashes of the files that are fetched."""
    identity: dict[str, object]

    @property
    def lies_here(self) -> bool:
        """Whether the folder's files are the whole agent: an image, and what is fetched, are somebody's."""
        return not self.fetched and self.identity["kind"] != SubmissionKind.IMAGE.value

    @property
    def settings(self) -> dict[str, object]:
        """What else defines a version."""
        return {name: value for name, value in self.identity.items() if name != "weights"}


def _manifest(content: bytes, is_header: bool) -> _Manifest | None:
    try:
        submission = parse_source_header(content) if is_header else parse_submission(content)
    except LoadError:
        return None
    fetched = {file.encode(): sha256 for file, sha256 in submission.fetched}
    is_image = submission.kind is SubmissionKind.IMAGE  # The same one in any registry.
    source = parse_reference(submission.entry).digest if is_image else submission.source
    code = submission.kind.value, submission.adapter, source
    return _Manifest(code=code, fetched=fetched, identity=submission.identity())


@dataclass(frozen=True)
class _Text:
    """What of a file with one kind of line end is compared."""

    size: int
    line_ends: int
    sha256: str


class _Objects:
    """What is compared of objects: each is read once, in however many folders it lies, and none is kept."""

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._manifests: dict[tuple[str, bool], _Manifest | None] = {}
        self._hashes: dict[str, str] = {}
        self._texts: dict[tuple[str, bool], _Text] = {}

    def manifests(self, files: Sequence[_AgentFile]) -> list[_Manifest | None]:
        """The manifests in files; None for one that is none."""
        for key, content in self._read({file.key for file in files} - self._manifests.keys()):
            self._manifests[key] = _manifest(content, key[1])
        return [self._manifests[file.key] for file in files]

    def hashes(self, oids: Collection[str]) -> list[str]:
        """The SHA-256 of each object's content."""
        for (oid, _), content in self._read({(oid, False) for oid in oids if oid not in self._hashes}):
            self._hashes[oid] = hashlib.sha256(content).hexdigest()
        return [self._hashes[oid] for oid in oids]

    def read_lines(self, files: Iterable[_AgentFile]) -> None:
        """Read the lines of files."""
        for key, content in self._read({file.key for file in files} - self._texts.keys()):
            text = _lines(content, has_header=key[1])
            self._texts[key] = _Text(len(text), text.count(b"\n"), hashlib.sha256(text).hexdigest())

    def may_equal(self, ours: _AgentFile, theirs: _AgentFile) -> bool:
        """Whether a size leaves open that a file has the lines of one that was read: each ends in one byte or two."""
        if ours.key == theirs.key:
            return True
        text = self._texts[ours.key]
        more = text.line_ends + _OUTER_LINE_ENDS + (HEADER_BYTES if theirs.has_header else 0)
        return text.size <= theirs.leaf.size <= text.size + more

    def are_equal(self, ours: _AgentFile, theirs: _AgentFile) -> bool:
        """Whether two files have the same lines."""
        return ours.key == theirs.key or self._texts[ours.key] == self._texts[theirs.key]

    def are_starter_files(self, files: Collection[_AgentFile]) -> bool:
        """Whether these are the files of an agent that everybody starts from."""
        if any(file.leaf.size > _TEXT_BYTES for file in files):
            return False
        keys = {file.key for file in files}
        return is_starter([_lines(content, has_header=has_header) for (_, has_header), content in self._read(keys)])

    def _read(self, keys: Iterable[tuple[str, bool]]) -> Iterator[tuple[tuple[str, bool], bytes]]:
        ordered = sorted(keys)
        return zip(ordered, self._repository.read_each([oid for oid, _ in ordered]), strict=True)


def _lines(content: bytes, *, has_header: bool) -> bytes:
    """The text without its header, with one kind of line end, and none at its ends."""
    text = without_header(content) if has_header else content
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").strip(b"\n")


def _pairs(one: _Folder, other: _Folder) -> list[tuple[_AgentFile, _AgentFile]]:
    """The files of the same names that lie in both."""
    return [(file, other.files[name]) for name, file in one.files.items() if name in other.files]


def _are_readable(ours: _AgentFile, theirs: _AgentFile) -> bool:
    """Whether two files are one object, or small enough to be read for their line ends."""
    return ours.key == theirs.key or max(ours.leaf.size, theirs.leaf.size) <= _TEXT_BYTES


def _is_same_owner(one: _Folder, other: _Folder) -> bool:
    return other.path.split("/")[1].casefold() == one.path.split("/")[1].casefold()


def _differences(one: _Folder, other: _Folder, manifest: _Manifest, other_manifest: _Manifest) -> list[str]:
    """What differs that makes no other agent."""
    pairs = _pairs(one, other)
    unlike = [(first, second) for first, second in pairs if first.key != second.key]
    differences = {
        "modes of files": any(first.leaf.mode != second.leaf.mode for first, second in pairs),
        "line ends": any(not (first.has_header or second.has_header) for first, second in unlike),
        "the header": any(first.has_header or second.has_header for first, second in unlike),
        "empty files": one.empty != other.empty,
        "which files are fetched": manifest.fetched != other_manifest.fetched,
        "settings that run no other code": manifest.settings != other_manifest.settings,
    }
    return [words for words, differ in differences.items() if differ]


def _fault(one: _Folder, other: _Folder, differences: list[str]) -> str:
    how = f" apart from {' and '.join(differences)}" if differences else ""
    if not differences and one.manifest.key == other.manifest.key:
        how = ", byte for byte"
    if _is_same_owner(one, other):
        return duplicate_fault(other.path + how)
    return f"is the same agent as {other.path}{how}, which stands on main already; enter one of your own"


# The agents that everybody starts from: what `pullrank new` writes, and the form of the site.
# Lines that are written anew for the task, with such values only: an action is a number or zeros, and no code or table.
_FILLED_IN = re.compile(
    rb"^(?:(ACTION) = (?:-?\d{1,6}|[\[\]0., ]{1,2000})|(ENVIRONMENT) = \"[\w./:-]{1,100}\")$", re.MULTILINE
)


def is_starter(texts: Collection[bytes]) -> bool:
    """Whether an agent's files, without its manifest and without line ends around them, are a starter's, unchanged."""
    masked = {_masked(text) for text in texts}
    return bool(masked) and any(masked <= starter for starter in _starters())


@cache
def _starters() -> tuple[frozenset[bytes], ...]:
    folders = sorted(path for path in TEMPLATE_FOLDER.iterdir() if path.is_dir())
    return tuple(frozenset(_masked(path.read_bytes()) for path in folder.iterdir() if path.is_file()) for folder in folders)


def _masked(text: bytes) -> bytes:
    # With the line ends of what it is compared with: a saved model holds bytes of all kinds.
    return _FILLED_IN.sub(rb"\1\2", _lines(text, has_header=False))
