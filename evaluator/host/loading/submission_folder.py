"""Submission folders: reading only plain files, checking them, and copying them before they run."""

import itertools
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluator.host.loading.manifest import ManifestText, manifest_of
from evaluator.host.loading.weights_cache import WeightsCache, is_pointer
from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model import canonical_json
from evaluator.model.config.image_reference import OwnImage, parse_reference
from evaluator.model.config.submission import (
    MANIFEST_NAME,
    MODEL_ADAPTERS,
    Submission,
    SubmissionFile,
    SubmissionKind,
    submission_digest,
)
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.identifiers import SEGMENT, portable_fault
from evaluator.model.validation_messages import nearest

POINTER_FAULT = "is a Git LFS pointer, not the file; run 'git lfs untrack' for it, then commit the file itself"
MAX_FOLDER_DEPTH = 6
# Windows takes 260 characters, of which the folder's own path and the clone's need some.
LONGEST_PATH = 120
# Python writes these; they are never part of an agent.
IGNORED_FOLDERS = frozenset({"__pycache__"})
# Python imports these from anywhere, and nobody can read them.
_BYTE_CODE = (".pyc", ".pyo")
# Programs that write code obey such a file wherever it lies in the repository that they work on.
_INSTRUCTIONS = frozenset({
    "agents.md", "agents.override.md", "agent.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md", "warp.md",
    "crush.md", "codebuddy.md", "iflow.md", "knowledge.md",
})  # fmt: skip
# With `refs` and `objects` beside it, or a file that names their place, it makes a repository of any folder.
_GITS_HEAD = "head"


@dataclass(frozen=True, kw_only=True)
class SubmissionFolder:
    """A submission's files and manifest."""

    submission: Submission
    blobs: tuple[SubmissionFile, ...]
    """Its files, sorted by path."""
    digest: str
    image_mib: int = SubmissionLimits().image_mib
    """The largest size of an image that it may name, in MiB."""

    @property
    def manifest(self) -> ManifestText:
        """Where the manifest stands."""
        return manifest_of({blob.path: blob.content for blob in self.blobs})

    @property
    def image(self) -> OwnImage | None:
        """The image that it names, if any."""
        if self.submission.kind is not SubmissionKind.IMAGE:
            return None
        return OwnImage(reference=parse_reference(self.submission.entry), image_mib=self.image_mib)


def read_folder(path: Path, limits: SubmissionLimits) -> SubmissionFolder:
    """Read a submission.

    Raises:
        LoadError: with the first fault of the files, or every fault of the manifest.
    """
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        raise LoadError(f"{path}: cannot be read ({error.strerror}); name the folder of an agent") from error
    if not stat.S_ISDIR(mode):
        raise LoadError(f"{path}: is not a folder; name the folder that holds {MANIFEST_NAME}")
    return assemble(_blobs(path, limits), limits)


def assemble(blobs: tuple[SubmissionFile, ...], limits: SubmissionLimits) -> SubmissionFolder:
    """Make a submission from its files, wherever they were read.

    Raises:
        LoadError: the manifest is missing or wrong, or the entry is not a text file of the folder.
    """
    _check_limits_and_case(blobs, limits)
    if pointer := next((blob for blob in blobs if is_pointer(blob.content)), None):
        raise LoadError(f"{pointer.path}: {POINTER_FAULT}")
    content = {blob.path: blob.content for blob in blobs}
    manifest = manifest_of(content)
    submission = manifest.parse()
    _check_weights(submission, manifest.file, content, limits)
    _check_entry_file(submission, content)
    digest = submission_digest(submission, blobs)
    return SubmissionFolder(submission=submission, blobs=blobs, digest=digest, image_mib=limits.image_mib)


def _check_limits_and_case(blobs: tuple[SubmissionFile, ...], limits: SubmissionLimits) -> None:
    """Raise LoadError for too many files or bytes, or two names that differ only by case."""
    if fault := limits.folder_fault({blob.path: len(blob.content) for blob in blobs}):
        raise LoadError(fault)
    seen: dict[str, str] = {}
    for blob in blobs:
        other = seen.setdefault(blob.path.casefold(), blob.path)
        if other != blob.path:
            raise LoadError(f"{blob.path}: differs from {other} only by case; rename one")


def _check_weights(submission: Submission, manifest: str, content: dict[str, bytes], limits: SubmissionLimits) -> None:
    """Raise LoadError where fetched files are too large, or their names do not fit those of the folder."""
    if fault := limits.weights_fault(sum(weights.bytes for weights in submission.weights)):
        raise LoadError(f"{manifest}: {fault}")
    taken = set(content)
    for path, _ in submission.fetched:
        check_name(path)
        if fault := new_file_fault(path) or new_names_fault((*taken, path)):
            raise LoadError(f"{path!r}: {fault}")
        if path.casefold().endswith(".py"):
            raise LoadError(f"{path!r}: code is not fetched; put it into the folder, where everybody can read it")
        if any(other == path or other.startswith(path + "/") or path.startswith(other + "/") for other in taken):
            raise LoadError(f"{path!r}: 'weights' name it, and the folder holds a file there; rename one")
        taken.add(path)


def _check_entry_file(submission: Submission, content: dict[str, bytes]) -> None:
    if submission.kind is SubmissionKind.IMAGE:
        return
    entry = submission.source
    if submission.adapter in MODEL_ADAPTERS and entry in dict(submission.fetched):
        return
    if entry not in content:
        others = [path for path in content if "/" not in path and path != MANIFEST_NAME]
        near = None if "/" in entry else nearest(entry, others)
        advice = f"{near} is there: rename it" if near else "write it"
        raise LoadError(f"{entry}: the entry file does not exist; {advice}, or correct 'entry' in {MANIFEST_NAME}")
    if submission.adapter in MODEL_ADAPTERS:
        return
    try:
        text = content[entry].decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[entry][: error.start].count(b"\n") + 1
        raise LoadError(f"{entry}:{line}: is not UTF-8 text; save the source as UTF-8") from error
    if "\0" in text:
        raise LoadError(f"{entry}: holds a zero byte, so it is not Python source; commit the .py file")


def check_name(path: str) -> None:
    """Raise LoadError for a path that must not be part of a submission."""
    segments = path.split("/")
    if any(segment.casefold().startswith(".git") for segment in segments):
        raise LoadError(f"{path!r}: git's own files are not allowed in a submission; remove it")
    if len(segments) > MAX_FOLDER_DEPTH:
        raise LoadError(f"{path!r}: lies in more than {MAX_FOLDER_DEPTH - 1} folders; flatten it")
    for segment in segments:
        if not SEGMENT.fullmatch(segment) or segment in (".", ".."):
            rule = "letters, digits or '_.+-', beginning with a letter, digit or '_', at most 100"
            raise LoadError(f"{path!r}: names of files and folders are {rule}; rename it")


def new_file_fault(path: str) -> str | None:
    """Why a file of that name may not come in, though a folder that was accepted before may have one; None if it may."""
    if IGNORED_FOLDERS & set(path.split("/")) or path.casefold().endswith(_BYTE_CODE):
        return "Python's byte code is no part of an agent; remove it"
    if path.rpartition("/")[2].casefold() in _INSTRUCTIONS:
        return "whoever works on the board with a coding agent would have it obey this file; leave it out, or rename it"
    if path.rpartition("/")[2].casefold() == _GITS_HEAD:
        return "git would take its folder for a repository and obey it; rename it"
    return next((fault for segment in path.split("/") if (fault := portable_fault(segment))), None)


def new_path_fault(path: str) -> str | None:
    """Why a file with that path may not come in with git; None if it may. What is fetched lies in no clone."""
    if len(path) > LONGEST_PATH:
        return f"has more than {LONGEST_PATH} characters, so nobody could clone it on Windows; shorten it"
    return new_file_fault(path)


def new_names_fault(paths: Iterable[str]) -> str | None:
    """Which new files or folders would be one where capitals do not matter; None if there are none."""
    seen: dict[str, str] = {}
    for path in paths:
        parts = path.split("/")
        for place in ("/".join(parts[:end]) for end in range(1, len(parts) + 1)):
            other = seen.setdefault(place.casefold(), place)
            if other != place:
                return f"{place} differs from {other} only by case; rename one"
    return None


def _blobs(root: Path, limits: SubmissionLimits) -> tuple[SubmissionFile, ...]:
    entries = list(itertools.islice(_walk(root, ""), limits.files + 1))
    if fault := limits.folder_fault({path: entry.stat(follow_symlinks=False).st_size for path, entry in entries}):
        raise LoadError(fault)
    blobs = []
    size = 0
    for path, entry in entries:
        blobs.append(_read(path, entry, limits))
        size += len(blobs[-1].content)
        if size > limits.kib * 1024:  # it grew since it was listed
            break
    return tuple(sorted(blobs, key=lambda blob: blob.path))


def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError as error:
        raise LoadError(f"{prefix}: cannot be read ({error.strerror}); make it readable or remove it") from error
    for entry in entries:
        if entry.name in IGNORED_FOLDERS:
            continue
        path = prefix + entry.name
        check_name(path)
        if entry.is_symlink():
            raise LoadError(f"{path}: is a symbolic link; put the file itself there")
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(folder / entry.name, path + "/")
        elif entry.is_file(follow_symlinks=False):
            yield path, entry
        else:
            raise LoadError(f"{path}: is neither a file nor a folder; remove it")


def _read(path: str, entry: os.DirEntry[str], limits: SubmissionLimits) -> SubmissionFile:
    """Read a file; opened so that a link or device put there in the meantime is refused too."""
    try:
        descriptor = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise LoadError(f"{path}: cannot be read ({error.strerror}); make it readable or remove it") from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise LoadError(f"{path}: is not a plain file; remove it")
        # No more than its size when opened: a buffer for the largest allowed file takes longer than reading a small one.
        content = file.read(min(status.st_size, limits.kib * 1024) + 1)
    return SubmissionFile(path=path, executable=bool(status.st_mode & stat.S_IXUSR), content=content)


def fetch_weights(folder: SubmissionFolder) -> bool:
    """Fetch the files of 'weights' that are not here; returns whether something came from a host of its owner's.

    Raises:
        AgentFault: a file cannot be fetched, or is not what the manifest says.
    """
    return bool(folder.submission.weights) and WeightsCache().fetch(folder.submission.weights)


def stage(folder: SubmissionFolder, target: Path) -> None:
    """Write what the digest covers, and nothing else, to an empty directory, readable by an unprivileged user.

    Of submission.yml only the fields that define the agent are there: what else it says may change without another
    version, so an agent that could read it could be told how to play after its seeds are known.

    Raises:
        AgentFault: a file of 'weights' cannot be fetched, or is not what the manifest says.
    """
    target.chmod(0o755)
    for blob in folder.blobs:
        place = _staged_path(target, blob.path)
        is_manifest = blob.path == MANIFEST_NAME
        place.write_bytes(canonical_json.canonical(folder.submission.identity()) if is_manifest else blob.content)
        place.chmod(0o555 if blob.executable and not is_manifest else 0o444)
    fetch_weights(folder)
    # By name: the manifest's order is no part of the version, and an agent could read it by the files' inodes and times.
    for weights in sorted(folder.submission.weights, key=lambda weights: weights.file):
        place = _staged_path(target, weights.file)
        WeightsCache().copy(weights, place)
        place.chmod(0o444)


def _staged_path(target: Path, path: str) -> Path:
    """The place of a file, with its folders made."""
    place = target / path
    for parent in reversed(place.relative_to(target).parents[:-1]):
        (target / parent).mkdir(mode=0o755, exist_ok=True)
        (target / parent).chmod(0o755)
    return place
