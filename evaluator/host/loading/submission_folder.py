"""Submission folders: reading only plain files, checking them, and copying them before they run."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.host.loading.yaml_loader import LoadError, parse_submission
from evaluator.model.config.challenge import SubmissionLimits
from evaluator.model.config.submission import (
    MANIFEST_NAME,
    MODEL_ADAPTERS,
    Submission,
    SubmissionFile,
    SubmissionKind,
    parse_reference,
    submission_digest,
)
from evaluator.model.identifiers import SEGMENT, portable_fault

if TYPE_CHECKING:
    from evaluator.host.sandboxes.sandbox import OwnImage

# The first line of a Git LFS pointer, new and old, and the size that its specification keeps it below.
_POINTER_LINES = (b"version https://git-lfs.github.com/spec/v", b"version https://hawser.github.com/spec/v")
POINTER_BYTES = 1024
POINTER_FAULT = "is a Git LFS pointer, not the file; run 'git lfs untrack' for it, then commit the file itself"
MAX_FOLDER_DEPTH = 6
# Python writes these; they are never part of an agent.
IGNORED_FOLDERS = frozenset({"__pycache__"})
# Python imports these from anywhere, and nobody can read them.
_BYTE_CODE = (".pyc", ".pyo")


@dataclass(frozen=True, kw_only=True)
class SubmissionFolder:
    """A submission's files and manifest."""

    submission: Submission
    blobs: tuple[SubmissionFile, ...]
    """Its files, sorted by path."""
    digest: str
    """The submission digest."""
    image_mib: int = SubmissionLimits().image_mib
    """The largest size of an image that it may name, in MiB."""

    @property
    def image(self) -> "OwnImage | None":
        """The image that it names, if any."""
        if self.submission.kind is not SubmissionKind.IMAGE:
            return None
        # imported late, since ranking needs no sandboxes
        from evaluator.host.sandboxes.sandbox import OwnImage

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
    check_sizes(blobs, limits)
    _check_bytes(blobs)
    content = {blob.path: blob.content for blob in blobs}
    if MANIFEST_NAME not in content:
        raise LoadError(f"{MANIFEST_NAME}: is missing; write it, or let 'pullrank new' do so")
    submission = parse_submission(content[MANIFEST_NAME])
    _check_entry(submission, content)
    digest = submission_digest(submission, blobs)
    return SubmissionFolder(submission=submission, blobs=blobs, digest=digest, image_mib=limits.image_mib)


def check_sizes(blobs: tuple[SubmissionFile, ...], limits: SubmissionLimits) -> None:
    """Raise LoadError for too many files or bytes, or two names that differ only by case."""
    if fault := limits.size_fault(len(blobs), sum(len(blob.content) for blob in blobs)):
        raise LoadError(fault)
    seen: dict[str, str] = {}
    for blob in blobs:
        other = seen.setdefault(blob.path.casefold(), blob.path)
        if other != blob.path:
            raise LoadError(f"{blob.path}: differs from {other} only by case; rename one")


def is_pointer(content: bytes) -> bool:
    """Whether this is a Git LFS pointer, committed in place of a file."""
    return len(content) < POINTER_BYTES and content.startswith(_POINTER_LINES)


def _check_bytes(blobs: tuple[SubmissionFile, ...]) -> None:
    for blob in blobs:
        if is_pointer(blob.content):
            raise LoadError(f"{blob.path}: {POINTER_FAULT}")


def _check_entry(submission: Submission, content: dict[str, bytes]) -> None:
    if submission.kind is SubmissionKind.IMAGE:
        return
    entry = submission.source
    if entry not in content:
        raise LoadError(f"{entry}: the entry file does not exist; write it, or correct 'entry' in {MANIFEST_NAME}")
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
        raise LoadError(f"{path!r}: lies deeper than {MAX_FOLDER_DEPTH} folders; flatten it")
    for segment in segments:
        if not SEGMENT.fullmatch(segment) or segment in (".", ".."):
            rule = "letters, digits or '_.+-', beginning with a letter, digit or '_', at most 100"
            raise LoadError(f"{path!r}: names of files and folders are {rule}; rename it")


def new_file_fault(path: str) -> str | None:
    """Why a file of that name may not come in, though a folder that was accepted before may have one; None if it may."""
    if IGNORED_FOLDERS & set(path.split("/")) or path.casefold().endswith(_BYTE_CODE):
        return "Python's byte code is no part of an agent; remove it"
    return next((fault for segment in path.split("/") if (fault := portable_fault(segment))), None)


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
    blobs = []
    size = 0
    for path, entry in _walk(root, ""):
        blobs.append(_read(path, entry, limits))
        size += len(blobs[-1].content)
        if limits.size_fault(len(blobs), size):
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


def stage(folder: SubmissionFolder, target: Path) -> None:
    """Write exactly the digested files to an empty directory, readable by an unprivileged user."""
    target.chmod(0o755)
    for blob in folder.blobs:
        place = target / blob.path
        for parent in reversed(place.relative_to(target).parents[:-1]):
            (target / parent).mkdir(mode=0o755, exist_ok=True)
            (target / parent).chmod(0o755)
        place.write_bytes(blob.content)
        place.chmod(0o555 if blob.executable else 0o444)
